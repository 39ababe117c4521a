package agent.server;

import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;

/** A request body that ends with an exception where it grows over the limit. */
final class BoundedBody extends FilterInputStream {
  private final long maxBytes;
  private long readBytes;

  BoundedBody(InputStream body, long maxBytes) {
    super(body);
    this.maxBytes = maxBytes;
  }

  @Override
  public int read() throws IOException {
    final byte[] one = new byte[1];
    return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
  }

  @Override
  public int read(byte[] bytes, int offset, int length) throws IOException {
    final int count = readOrLose(bytes, offset, length);
    readBytes += Math.max(0, count);
    if (readBytes > maxBytes) {
      throw new BodyTooLargeException(maxBytes);
    }
    return count;
  }

  /** Leaves the rest unread: a refusal must not wait for it. */
  @Override
  public void close() {}

  private int readOrLose(byte[] bytes, int offset, int length) throws ClientGoneException {
    try {
      return in.read(bytes, offset, length);
    } catch (IOException e) {
      throw new ClientGoneException(e);
    }
  }

  /** The body ends before its length: whoever sent it has gone or stands still. */
  static final class ClientGoneException extends IOException {
    private static final long serialVersionUID = 1L;

    ClientGoneException(IOException cause) {
      super(cause.getMessage(), cause);
    }
  }
}
