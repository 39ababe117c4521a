package agent.client;

import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;

/** The body of an answer, delimited by its length or by chunks (RFC 9112 section 7.1). */
final class AnswerBody extends InputStream {
  private static final int MAX_LINE_BYTES = 8 * 1024;

  private final UnixHttpConnection connection;
  private final boolean isChunked;
  private long remaining;
  private boolean isComplete;

  private AnswerBody(UnixHttpConnection connection, boolean isChunked, long length) {
    this.connection = connection;
    this.isChunked = isChunked;
    this.remaining = length;
    this.isComplete = !isChunked && length == 0;
  }

  static AnswerBody ofLength(UnixHttpConnection connection, long length) {
    return new AnswerBody(connection, false, length);
  }

  static AnswerBody chunked(UnixHttpConnection connection) {
    return new AnswerBody(connection, true, 0);
  }

  /** Returns whether all of it was read, so that the connection can serve the next call. */
  boolean isComplete() {
    return isComplete;
  }

  @Override
  public int read() throws IOException {
    final byte[] one = new byte[1];
    return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
  }

  @Override
  public int read(byte[] bytes, int offset, int length) throws IOException {
    if (length == 0) {
      return 0;
    }
    if (remaining == 0 && isChunked && !isComplete) {
      nextChunk();
    }
    if (isComplete) {
      return -1;
    }
    final int count = connection.read(bytes, offset, (int) Math.min(length, remaining));
    if (count < 0) {
      throw new EOFException("the answer was truncated");
    }
    remaining -= count;
    if (remaining == 0) {
      if (isChunked) {
        connection.readLine(MAX_LINE_BYTES);
      } else {
        isComplete = true;
      }
    }
    return count;
  }

  private void nextChunk() throws IOException {
    final String size = connection.readLine(MAX_LINE_BYTES).split(";", 2)[0].strip();
    try {
      remaining = Long.parseLong(size, 16);
    } catch (NumberFormatException e) {
      throw new IOException("malformed chunk size '" + size + "'", e);
    }
    if (remaining < 0) {
      throw new IOException("malformed chunk size '" + size + "'");
    }
    if (remaining == 0) {
      String trailer;
      do {
        trailer = connection.readLine(MAX_LINE_BYTES);
      } while (!trailer.isEmpty());
      isComplete = true;
    }
  }
}
