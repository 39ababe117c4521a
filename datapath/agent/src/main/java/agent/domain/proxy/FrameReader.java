package agent.domain.proxy;

import java.io.BufferedInputStream;
import java.io.ByteArrayInputStream;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;

/** Reads what a {@link FrameWriter} sends. */
final class FrameReader {
  private static final FrameType[] TYPES = FrameType.values();
  private static final int BUFFER_BYTES = 64 * 1024;

  private final DataInputStream in;
  private final int longest;

  /** Hears of frames. */
  @FunctionalInterface
  interface Handler {
    /**
     * A frame has come.
     *
     * @param body ends with the frame
     * @throws IOException where the frame is not valid
     */
    void onFrame(FrameType type, DataInputStream body) throws IOException;
  }

  /**
   * Creates a reader.
   *
   * @param longest the most bytes of a frame
   */
  FrameReader(InputStream from, int longest) {
    in = new DataInputStream(new BufferedInputStream(from, BUFFER_BYTES));
    this.longest = longest;
  }

  /**
   * Reads frames until the stream ends.
   *
   * @throws IOException where it cannot be read, or something is no valid frame
   */
  void run(Handler handler) throws IOException {
    while (true) {
      final int length;
      try {
        length = in.readInt();
      } catch (EOFException end) {
        return;
      }
      if (length < 1 || length > longest) {
        throw new IOException("a frame of " + length + " bytes");
      }
      final byte[] frame = new byte[length];
      in.readFully(frame);
      final int type = frame[0];
      if (type < 0 || type >= TYPES.length) {
        throw new IOException("a frame of type " + type);
      }
      final DataInputStream body =
          new DataInputStream(new ByteArrayInputStream(frame, 1, length - 1));
      try {
        handler.onFrame(TYPES[type], body);
      } catch (RuntimeException e) {
        throw new IOException(TYPES[type] + ": " + e.getMessage(), e);
      }
      if (body.available() > 0) {
        throw new IOException(TYPES[type] + ": " + body.available() + " bytes too many");
      }
    }
  }
}
