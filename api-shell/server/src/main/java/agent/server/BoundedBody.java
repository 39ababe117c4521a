package agent.server;

import java.io.FilterInputStream;
import java.io.IOException;
import java.io.InputStream;

/** A request body that ends with an exception where it grows over the limit. */
final class BoundedBody extends FilterInputStream {
  private final long maxBytes;
  private long readBytes;

  BoundedBody(final InputStream body, final long maxBytes) {
    super(body);
    this.maxBytes = maxBytes;
  }

  @Override
  public int read() throws IOException {
    final int value = in.read();
    count(value < 0 ? 0 : 1);
    return value;
  }

  @Override
  public int read(final byte[] bytes, final int offset, final int length) throws IOException {
    final int count = in.read(bytes, offset, length);
    count(count);
    return count;
  }

  @Override
  public long skip(final long count) throws IOException {
    final long skipped = in.skip(count);
    count(skipped);
    return skipped;
  }

  private void count(final long bytes) throws BodyTooLargeException {
    readBytes += Math.max(0, bytes);
    if (readBytes > maxBytes) {
      throw new BodyTooLargeException(maxBytes);
    }
  }
}
