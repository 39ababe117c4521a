package agent.server;

import java.nio.ByteBuffer;
import tools.jackson.core.JsonGenerator;

/**
 * The answer of a handler: a status code and a body.
 *
 * @param status HTTP status code
 * @param body the body
 */
public record Answer(int status, Body body) {
  private static final int OK = 200;
  private static final int CREATED = 201;

  /** A body and the way in which it is written. */
  public sealed interface Body {}

  /**
   * A value that is encoded in memory before it is sent.
   *
   * @param value a record of the contract, a list or a string
   */
  public record Json(Object value) implements Body {}

  /**
   * A list that may be large: it is written to the socket element by element.
   *
   * @param writer writes the whole document
   */
  public record Streamed(JsonWriter writer) implements Body {}

  /**
   * A text.
   *
   * @param contentType media type
   * @param text the text
   */
  public record Text(String contentType, String text) implements Body {}

  /**
   * JSON that is encoded already.
   *
   * @param bytes the body, which is not changed
   */
  public record Rendered(ByteBuffer bytes) implements Body {}

  /** No body. */
  public record Empty() implements Body {}

  /** Writes a JSON document. */
  @FunctionalInterface
  public interface JsonWriter {
    /**
     * Writes the document.
     *
     * @param json receives the document; records of the contract are written with {@code writePOJO}
     * @throws Exception where the source or the socket fails
     */
    void writeTo(JsonGenerator json) throws Exception;
  }

  /** Returns 200 with a value. */
  public static Answer ok(Object value) {
    return new Answer(OK, new Json(value));
  }

  /** Returns 200 without a body. */
  public static Answer ok() {
    return new Answer(OK, new Empty());
  }

  /** Returns 201 with a value. */
  public static Answer created(Object value) {
    return new Answer(CREATED, new Json(value));
  }

  /** Returns 200 with JSON that is encoded already. */
  static Answer rendered(ByteBuffer bytes) {
    return new Answer(OK, new Rendered(bytes));
  }

  /** Returns 200 with a list that is streamed. */
  public static Answer streamed(JsonWriter writer) {
    return new Answer(OK, new Streamed(writer));
  }

  /** Returns 200 with an array whose elements are encoded and written one by one. */
  public static <T> Answer streamedArray(
      Iterable<T> elements, java.util.function.Function<? super T, ?> encoder) {
    return streamed(
        json -> {
          json.writeStartArray();
          for (final T element : elements) {
            json.writePOJO(encoder.apply(element));
          }
          json.writeEndArray();
        });
  }
}
