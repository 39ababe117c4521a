package agent.state;

import agent.types.EntrySource;
import agent.types.IpAddress;
import agent.types.MacAddress;
import agent.types.Prefix;
import agent.types.Refusal;
import jakarta.json.JsonException;
import jakarta.json.stream.JsonParser;
import jakarta.json.stream.JsonParser.Event;
import jakarta.json.stream.JsonParserFactory;
import java.io.ByteArrayInputStream;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.CodingErrorAction;
import java.nio.charset.StandardCharsets;
import java.time.DateTimeException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.eclipse.parsson.JsonProviderImpl;
import org.eclipse.parsson.api.JsonConfig;

/**
 * Reads one stored document and accepts only the output of {@link DocumentWriter}: the members of
 * an object in the order of writing, each exactly once, and values of the expected types. Every
 * error names the JSON path. An unexpected token is refused at once, so the depth is limited by the
 * codec.
 */
final class DocumentReader {
  // The library limits a document to 15 million characters by default; here the size of the file is
  // the limit.
  private static final JsonParserFactory PARSERS =
      new JsonProviderImpl()
          .createParserFactory(Map.of(JsonConfig.MAX_PARSING_LIMIT, Integer.MAX_VALUE));
  private static final int MOST_DEPTH = 16;
  private static final int MOST_SHOWN = 64;

  /** What one value of a document takes in the heap when it is in use, in bytes. */
  private static final int HEAP_PER_VALUE = 160;

  /**
   * Reads a value of one type. The reader is at the first token of the value before the call and at
   * its last token after it.
   *
   * @param <T> the type
   */
  interface Value<T> {
    T read(DocumentReader in) throws DamagedStateException;
  }

  private final JsonParser json;
  private final String[] names = new String[MOST_DEPTH];
  private final int[] indexes = new int[MOST_DEPTH];
  private final long mostValues;
  private long values;
  private int depth;
  private Event event;

  /** Whether the event is the next member of the object, or its end, and not read yet. */
  private boolean isAhead;

  private DocumentReader(JsonParser json, long mostValues) {
    this.json = json;
    this.mostValues = mostValues;
  }

  /**
   * Reads a document.
   *
   * @param document UTF-8, from its position to its limit; backed by a byte array
   * @param root reads the value of the document
   * @return the value
   * @throws DamagedStateException naming the JSON path
   */
  static <T> T read(ByteBuffer document, Value<T> root) throws DamagedStateException {
    return read(document, root, Runtime.getRuntime().maxMemory() / HEAP_PER_VALUE);
  }

  /** As {@link #read(ByteBuffer, Value)}; refuses a document with more values. */
  static <T> T read(ByteBuffer document, Value<T> root, long mostValues)
      throws DamagedStateException {
    final InputStreamReader characters =
        new InputStreamReader(
            new ByteArrayInputStream(
                document.array(),
                document.arrayOffset() + document.position(),
                document.remaining()),
            StandardCharsets.UTF_8
                .newDecoder()
                .onMalformedInput(CodingErrorAction.REPORT)
                .onUnmappableCharacter(CodingErrorAction.REPORT));
    try (JsonParser json = PARSERS.createParser(characters)) {
      final DocumentReader in = new DocumentReader(json, mostValues);
      in.advance();
      final T value = root.read(in);
      in.end();
      return value;
    }
  }

  void beginObject() throws DamagedStateException {
    require(Event.START_OBJECT, "an object");
    names[++depth] = "";
  }

  /** Reads the end of the object; refuses a further member. */
  void endObject() throws DamagedStateException {
    final String last = names[depth];
    advance();
    if (event == Event.KEY_NAME) {
      names[depth] = json.getString();
      throw damaged("is unknown or duplicate; the last member is '" + last + "'");
    }
    depth--;
  }

  /** Reads the next member, which must have this name and a value other than {@code null}. */
  <T> T member(String name, Value<T> form) throws DamagedStateException {
    advance();
    if (event != Event.KEY_NAME) {
      names[depth] = name;
      throw damaged("is missing");
    }
    final String found = json.getString();
    names[depth] = found;
    if (!found.equals(name)) {
      throw damaged("is unknown, or duplicate, or '" + name + "' before it is missing");
    }
    advance();
    return form.read(this);
  }

  /** Reads the next member, which must have this name; returns null for the value {@code null}. */
  <T> T memberOrNull(String name, Value<T> form) throws DamagedStateException {
    return member(name, in -> in.event == Event.VALUE_NULL ? null : form.read(in));
  }

  /**
   * Reads a member that earlier releases do not have. What follows is read by this method and, at
   * last, by {@link #lastMember}.
   *
   * @return its value; null where it is missing
   */
  <T> T laterMember(String name, Value<T> form) throws DamagedStateException {
    lookAhead();
    if (event == Event.END_OBJECT || !json.getString().equals(name)) {
      return null;
    }
    isAhead = false;
    names[depth] = name;
    advance();
    return form.read(this);
  }

  private void lookAhead() throws DamagedStateException {
    if (!isAhead) {
      advance();
      isAhead = true;
    }
  }

  /**
   * Reads the rest of an object: a member that earlier releases do not have, and the end.
   *
   * @return its value; null where it is missing
   */
  <T> T lastMember(String name, Value<T> form) throws DamagedStateException {
    lookAhead();
    isAhead = false;
    if (event == Event.END_OBJECT) {
      depth--;
      return null;
    }
    names[depth] = json.getString();
    check(names[depth].equals(name), "is unknown or duplicate");
    advance();
    final T value = form.read(this);
    endObject();
    return value;
  }

  String text() throws DamagedStateException {
    require(Event.VALUE_STRING, "a string");
    return json.getString();
  }

  /** Reads a string, or an integer as a string of its digits. */
  String textOrInteger() throws DamagedStateException {
    return event == Event.VALUE_NUMBER ? Integer.toString(integer()) : text();
  }

  int integer() throws DamagedStateException {
    require(Event.VALUE_NUMBER, "an integer");
    return number(Integer::parseInt, "an integer of 32 bits");
  }

  long longInteger() throws DamagedStateException {
    require(Event.VALUE_NUMBER, "an integer");
    return number(Long::parseLong, "an integer of 64 bits");
  }

  boolean bool() throws DamagedStateException {
    if (event != Event.VALUE_FALSE) {
      require(Event.VALUE_TRUE, "true or false");
    }
    return event == Event.VALUE_TRUE;
  }

  IpAddress address() throws DamagedStateException {
    return parsed(IpAddress::parse, "an IP address");
  }

  Prefix prefix() throws DamagedStateException {
    return parsed(Prefix::parse, "a CIDR");
  }

  MacAddress mac() throws DamagedStateException {
    return parsed(MacAddress::parse, "a MAC address");
  }

  EntrySource source() throws DamagedStateException {
    return parsed(EntrySource::new, "the source of an entry");
  }

  Instant instant() throws DamagedStateException {
    return parsed(Instant::parse, "a time of RFC 3339");
  }

  List<String> texts() throws DamagedStateException {
    return list(DocumentReader::text);
  }

  /** Reads an array into an unmodifiable list. */
  <T> List<T> list(Value<T> element) throws DamagedStateException {
    require(Event.START_ARRAY, "an array");
    names[++depth] = null;
    final List<T> values = new ArrayList<>();
    indexes[depth] = 0;
    for (advance(); event != Event.END_ARRAY; advance()) {
      values.add(element.read(this));
      indexes[depth]++;
    }
    depth--;
    return Collections.unmodifiableList(values);
  }

  /** Reads an object of strings into an unmodifiable map in the same order. */
  Map<String, String> textMap() throws DamagedStateException {
    beginObject();
    final Map<String, String> values = new LinkedHashMap<>();
    for (advance(); event == Event.KEY_NAME; advance()) {
      final String name = json.getString();
      names[depth] = name;
      advance();
      if (values.put(name, text()) != null) {
        throw damaged("is duplicate");
      }
    }
    depth--;
    return Collections.unmodifiableMap(values);
  }

  private <T> T number(Function<String, T> parser, String expected) throws DamagedStateException {
    final String text = json.getString();
    try {
      return parser.apply(text);
    } catch (NumberFormatException e) {
      throw damaged("'" + shortened(text) + "' is not " + expected);
    }
  }

  /** Reads a text that a parser must accept, which refuses others with a {@link Refusal}. */
  <T> T parsed(Function<String, T> parser, String expected) throws DamagedStateException {
    final String text = text();
    try {
      return parser.apply(text);
    } catch (Refusal | DateTimeException e) {
      throw damaged("'" + shortened(text) + "' is not " + expected);
    }
  }

  private static String shortened(String text) {
    return text.length() <= MOST_SHOWN ? text : text.substring(0, MOST_SHOWN) + "...";
  }

  /** Refuses the object or value that was read last where a condition does not hold. */
  void check(boolean holds, String reason) throws DamagedStateException {
    if (!holds) {
      throw damaged(reason);
    }
  }

  private void require(Event expected, String what) throws DamagedStateException {
    if (event != expected) {
      throw damaged("is not " + what + " but " + found());
    }
  }

  private String found() {
    return switch (event) {
      case START_OBJECT -> "an object";
      case START_ARRAY -> "an array";
      case VALUE_STRING -> "a string";
      case VALUE_NUMBER -> "a number";
      case VALUE_TRUE, VALUE_FALSE -> "a boolean";
      case VALUE_NULL -> "null";
      case KEY_NAME, END_OBJECT, END_ARRAY -> "the end";
    };
  }

  private void advance() throws DamagedStateException {
    try {
      event = json.next();
    } catch (JsonException e) {
      throw syntax(e);
    }
    switch (event) {
      case KEY_NAME, END_OBJECT, END_ARRAY, VALUE_NULL -> {
        return;
      }
      default -> values++;
    }
    if (values > mostValues) {
      throw damaged("more than " + mostValues + " values have no room in the heap of the agent");
    }
  }

  private void end() throws DamagedStateException {
    try {
      if (json.hasNext()) {
        throw damaged("unexpected text follows the document");
      }
    } catch (JsonException e) {
      throw syntax(e);
    }
  }

  private DamagedStateException syntax(JsonException e) {
    return damaged(
        e.getCause() instanceof CharacterCodingException ? "is not UTF-8" : e.getMessage());
  }

  private DamagedStateException damaged(String reason) {
    return new DamagedStateException(path() + ": " + reason);
  }

  /** Returns the JSON path of the present token: {@code $.addressing.ipv4}, {@code $.deny[17]}. */
  private String path() {
    final StringBuilder path = new StringBuilder("$");
    for (int level = 1; level <= depth; level++) {
      if (names[level] == null) {
        path.append('[').append(indexes[level]).append(']');
      } else if (!names[level].isEmpty()) {
        path.append('.').append(shortened(names[level]));
      }
    }
    return path.toString();
  }
}
