package agent.server;

import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;

/**
 * A request body whose read fails once more bytes were read than the limit allows. It has a share
 * of the budget of bodies while it is read.
 */
final class BoundedBody extends FilterInputStream {
  private final long maxBytes;
  private final BodyBudget.Share share;
  private long readBytes;

  BoundedBody(InputStream body, long maxBytes, BodyBudget.Share share) {
    super(body);
    this.maxBytes = maxBytes;
    this.share = share;
  }

  @Override
  public int read() throws IOException {
    final byte[] one = new byte[1];
    return read(one, 0, 1) == -1 ? -1 : one[0] & 0xff;
  }

  @Override
  public int read(byte[] bytes, int offset, int length) throws IOException {
    final int count = readOrLose(bytes, offset, length);
    readBytes += Math.max(0, count);
    if (readBytes > maxBytes) {
      throw new TooLargeException(maxBytes);
    }
    share.read(readBytes);
    return count;
  }

  /** Leaves the rest of the body unread, because a refusal must not wait for it. */
  @Override
  public void close() {}

  private int readOrLose(byte[] bytes, int offset, int length) throws ClientGoneException {
    try {
      return in.read(bytes, offset, length);
    } catch (IOException e) {
      throw new ClientGoneException(e);
    }
  }

  /** A body is larger than the agent accepts. */
  static final class TooLargeException extends IOException {
    private static final long serialVersionUID = 1L;

    TooLargeException(long maxBytes) {
      super("body: larger than " + maxBytes + " bytes");
    }
  }

  /** The body ended early: the client closed the connection or stopped sending. */
  static final class ClientGoneException extends IOException {
    private static final long serialVersionUID = 1L;

    ClientGoneException(IOException cause) {
      super(cause.getMessage(), cause);
    }
  }
}
