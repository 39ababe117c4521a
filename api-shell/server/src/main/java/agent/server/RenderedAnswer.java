package agent.server;

import agent.contract.WireFormat;
import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.json.JsonMapper;

/**
 * A small answer that is rendered once per change instead of once per request. A rendered body is
 * used until the API has answered a changing call, the version of what it shows rises, or its age
 * ends, which bounds how late values are seen that move by themselves. Safe for every thread.
 */
public final class RenderedAnswer {
  private static final long LONGEST_AGE_NS = TimeUnit.MILLISECONDS.toNanos(100);

  /** A larger body is not kept in memory. */
  static final int MOST_BYTES = 256 * 1024;

  private final JsonMapper mapper = WireFormat.strictMapper();
  private final LongSupplier version;
  private final LongSupplier clockNs;
  private final Supplier<?> value;
  private volatile Body latest;

  /** A body with what it was rendered from; without bytes where it is too large to be kept. */
  private record Body(long changes, long version, long renderedNs, ByteBuffer bytes) {}

  /**
   * Creates an answer that is not rendered yet.
   *
   * @param version reads a number that rises with each change of the value
   * @param clockNs the time
   * @param value reads the value: a record of the contract, or an iterator of them
   */
  public RenderedAnswer(LongSupplier version, LongSupplier clockNs, Supplier<?> value) {
    this.version = version;
    this.clockNs = clockNs;
    this.value = value;
  }

  /**
   * Returns the rendered body, which must not be changed; null where there is none that is valid.
   *
   * @param changes how many changing calls the API has answered
   */
  public ByteBuffer present(long changes) {
    final Body body = latest;
    return body != null && isValid(body, changes) ? body.bytes : null;
  }

  private boolean isValid(Body body, long changes) {
    return body.changes == changes
        && body.version == version.getAsLong()
        && clockNs.getAsLong() - body.renderedNs < LONGEST_AGE_NS;
  }

  /**
   * Returns the answer, and renders it where that is needed.
   *
   * @param request the request
   * @param large the answer where the body is too large to be kept
   */
  public Answer answer(ApiRequest request, Supplier<Answer> large) {
    final long changes = request.changes();
    Body body = latest;
    if (body == null || !isValid(body, changes)) {
      final long versionBefore = version.getAsLong();
      body = new Body(changes, versionBefore, clockNs.getAsLong(), render());
      latest = body;
    }
    return body.bytes == null ? large.get() : Answer.rendered(body.bytes);
  }

  private ByteBuffer render() {
    final BoundedOutput out = new BoundedOutput();
    try {
      mapper.writeValue(out, value.get());
    } catch (JacksonException | BoundedOutput.FullException e) {
      if (!out.isFull()) {
        throw e;
      }
      return null;
    }
    return ByteBuffer.wrap(out.toByteArray()).asReadOnlyBuffer();
  }

  private static final class BoundedOutput extends ByteArrayOutputStream {
    private boolean isFull;

    /** Ends the rendering of a body that is too large. */
    static final class FullException extends RuntimeException {
      private static final long serialVersionUID = 1L;

      FullException() {
        super("larger than " + MOST_BYTES + " bytes", null, false, false);
      }
    }

    @Override
    public synchronized void write(byte[] bytes, int offset, int length) {
      check(length);
      super.write(bytes, offset, length);
    }

    private void check(int length) {
      if (count + length > MOST_BYTES) {
        isFull = true;
        throw new FullException();
      }
    }

    boolean isFull() {
      return isFull;
    }
  }
}
