package agent.server;

import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.util.zip.GZIPInputStream;
import java.util.zip.ZipException;

/**
 * A request body that was compressed with gzip (RFC 9110, section 8.4). Its decoded bytes are
 * limited and budgeted, so that a small body cannot become a large one.
 */
final class DecodedBody extends InputStream {
  private final InputStream encoded;
  private final long maxBytes;
  private final BodyBudget.Share share;
  private GZIPInputStream decoded;
  private long readBytes;

  DecodedBody(InputStream encoded, long maxBytes, BodyBudget.Share share) {
    this.encoded = encoded;
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
    final int count;
    try {
      if (decoded == null) {
        decoded = new GZIPInputStream(encoded);
      }
      count = decoded.read(bytes, offset, length);
    } catch (ZipException | EOFException e) {
      throw new NotGzipException(e);
    }
    readBytes += Math.max(0, count);
    if (readBytes > maxBytes) {
      throw new BoundedBody.TooLargeException(maxBytes);
    }
    share.read(readBytes);
    return count;
  }

  /** The bytes are not in the coding that the header names. */
  static final class NotGzipException extends IOException {
    private static final long serialVersionUID = 1L;

    NotGzipException(IOException cause) {
      super("body: is not gzip, but Content-Encoding says gzip", cause);
    }
  }
}
