package agent.state;

import jakarta.json.JsonException;
import jakarta.json.stream.JsonGenerator;
import jakarta.json.stream.JsonGeneratorFactory;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.eclipse.parsson.JsonProviderImpl;

/**
 * Writes one stored document as compact JSON in UTF-8; the counterpart of {@link DocumentReader}.
 */
final class DocumentWriter {
  private static final JsonGeneratorFactory GENERATORS =
      new JsonProviderImpl().createGeneratorFactory(Map.of());

  /**
   * Writes a value of one type.
   *
   * @param <T> the type
   */
  interface Value<T> {
    void write(DocumentWriter out, T value);
  }

  private final JsonGenerator json;

  private DocumentWriter(JsonGenerator json) {
    this.json = json;
  }

  /**
   * Writes a document.
   *
   * @return the bytes, in parts
   * @throws IOException where the document is longer than {@link StateFile#MOST_BYTES}
   */
  static <T> List<ByteBuffer> write(T document, Value<T> root) throws IOException {
    final Utf8Text text = new Utf8Text(StateFile.MOST_BYTES);
    try (JsonGenerator json = GENERATORS.createGenerator(text)) {
      root.write(new DocumentWriter(json), document);
    } catch (JsonException e) {
      throw e.getCause() instanceof IOException cause ? cause : new IOException(e);
    }
    return text.parts();
  }

  void beginObject() {
    json.writeStartObject();
  }

  void endObject() {
    json.writeEnd();
  }

  /**
   * Writes a member with a required value.
   *
   * @throws NullPointerException naming the member, where the value is null
   */
  <T> void member(String name, T value, Value<? super T> form) {
    Objects.requireNonNull(value, name);
    json.writeKey(name);
    form.write(this, value);
  }

  /** Writes a member, with {@code null} for an absent value. */
  <T> void memberOrNull(String name, T value, Value<? super T> form) {
    json.writeKey(name);
    if (value == null) {
      json.writeNull();
    } else {
      form.write(this, value);
    }
  }

  /** Writes a string, or the text form of an address, a prefix or a time. */
  void text(Object value) {
    json.write(value.toString());
  }

  /** Writes the digits of a number as an integer, and all else as a string. */
  void textOrInteger(String value) {
    if (value.matches("0|[1-9][0-9]{0,8}")) {
      integer(Integer.parseInt(value));
    } else {
      text(value);
    }
  }

  void integer(int value) {
    json.write(value);
  }

  void longInteger(long value) {
    json.write(value);
  }

  void bool(boolean value) {
    json.write(value);
  }

  <T> void list(List<T> values, Value<? super T> element) {
    json.writeStartArray();
    for (final T value : values) {
      element.write(this, value);
    }
    json.writeEnd();
  }

  void texts(List<String> values) {
    list(values, DocumentWriter::text);
  }

  /** Writes an object of strings, in the order of the map. */
  void textMap(Map<String, String> values) {
    json.writeStartObject();
    for (final Map.Entry<String, String> value : values.entrySet()) {
      json.write(value.getKey(), value.getValue());
    }
    json.writeEnd();
  }
}
