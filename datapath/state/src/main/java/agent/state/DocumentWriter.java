package agent.state;

import agent.types.KeptTexts;
import jakarta.json.JsonException;
import jakarta.json.stream.JsonGenerator;
import jakarta.json.stream.JsonGeneratorFactory;
import java.io.IOException;
import java.io.StringWriter;
import java.io.Writer;
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
  private final Writer text;

  private DocumentWriter(JsonGenerator json, Writer text) {
    this.json = json;
    this.text = text;
  }

  /**
   * Writes a document.
   *
   * @return the bytes, in parts
   * @throws IOException where the document is longer than {@link StateFile#MOST_BYTES}
   */
  static <T> List<ByteBuffer> write(T document, Value<T> root) throws IOException {
    final Utf8Text text = new Utf8Text(StateFile.MOST_BYTES);
    try {
      write(document, root, text);
    } catch (JsonException e) {
      throw e.getCause() instanceof IOException cause ? cause : new IOException(e);
    }
    return text.parts();
  }

  private static <T> void write(T value, Value<? super T> form, Writer target) {
    try (JsonGenerator json = GENERATORS.createGenerator(target)) {
      form.write(new DocumentWriter(json, target), value);
    }
  }

  /** Returns the text of a value that is an object or a list, as {@link #keptList} takes it. */
  static <T> String text(T value, Value<T> form) {
    final StringWriter target = new StringWriter();
    write(value, form, target);
    return target.toString();
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

  /** Writes a list as {@link #list} does, of objects or lists some of whose texts are kept. */
  <T> void keptList(List<T> values, KeptTexts<T> kept, Value<? super T> element) {
    json.writeStartArray();
    json.flush(); // what follows goes past the generator
    final String[] separator = {""};
    kept.forEach(
        values,
        (value, known) -> {
          try {
            text.write(separator[0]);
            separator[0] = ",";
            if (known == null) {
              write(value, element, text);
            } else {
              text.write(known);
            }
          } catch (IOException e) {
            throw new JsonException("a list cannot be written", e);
          }
        });
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
