package agent.server;

import agent.server.BodyLimits.Unit;
import agent.server.CountingParser.OverLimitException;
import agent.types.Refusal;
import java.io.InputStream;
import java.util.List;
import java.util.regex.Pattern;
import tools.jackson.core.JacksonException;
import tools.jackson.core.JsonParser;
import tools.jackson.core.TokenStreamLocation;
import tools.jackson.core.exc.InputCoercionException;
import tools.jackson.core.exc.JacksonIOException;
import tools.jackson.core.exc.StreamConstraintsException;
import tools.jackson.core.exc.StreamReadException;
import tools.jackson.databind.JavaType;
import tools.jackson.databind.exc.InvalidNullException;
import tools.jackson.databind.exc.MismatchedInputException;
import tools.jackson.databind.exc.UnrecognizedPropertyException;
import tools.jackson.databind.json.JsonMapper;

/** Decodes a JSON body; its error messages name fields and JSON types, not Java classes. */
final class RequestBody {
  private static final int LONGEST_REASON = 200;
  private static final int TOO_LARGE = 413;

  /** The start of the part of a parser message that names the parser's own settings. */
  private static final Pattern PARSER_TERMS =
      Pattern.compile(
          " \\(start marker| \\(for | \\(from `|: enable `|: maybe a |"
              + " \\(\\(?CTRL-CHAR|`JsonReadFeature");

  private RequestBody() {}

  static <T> T read(
      JsonMapper mapper, JavaType type, InputStream body, BodyLimits limits, Unit elements) {
    final T value;
    try (JsonParser parser = new CountingParser(mapper.createParser(body), limits, elements)) {
      value = mapper.readValue(parser, type);
    } catch (JacksonException e) {
      throw refusal(e);
    }
    if (value == null) {
      throw HttpRefusal.badRequest(
          "body", "is null, " + nameOf(type.getRawClass()) + " is expected");
    }
    return value;
  }

  static RuntimeException refusal(JacksonException failure) {
    return switch (failure) {
      case JacksonIOException io -> io;
      case OverLimitException overLimit ->
          HttpRefusal.of(TOO_LARGE, field(overLimit) + ": " + overLimit.getOriginalMessage());
      case JacksonException value when value.getCause() instanceof Refusal refusal ->
          refusal.at(field(value));
      case JacksonException value when value.getCause() instanceof HttpRefusal refusal -> refusal;
      case StreamConstraintsException tooLarge ->
          HttpRefusal.badRequest(field(tooLarge), excess(tooLarge) + position(tooLarge));
      case InputCoercionException outOfRange ->
          HttpRefusal.badRequest(
              field(outOfRange), "a number is out of range" + position(outOfRange));
      case StreamReadException malformed ->
          HttpRefusal.badRequest(
              "body", "malformed JSON" + position(malformed) + ": " + reason(malformed));
      case UnrecognizedPropertyException unknown ->
          HttpRefusal.badRequest(field(unknown), "is not a known field");
      case InvalidNullException missing -> HttpRefusal.badRequest(field(missing), "is null");
      case MismatchedInputException mismatch when isMissing(mismatch) ->
          HttpRefusal.badRequest(field(mismatch), "is missing");
      case MismatchedInputException mismatch ->
          HttpRefusal.badRequest(
              field(mismatch),
              nameOf(mismatch.getTargetType()) + " is expected" + position(mismatch));
      default -> HttpRefusal.badRequest(field(failure), reason(failure));
    };
  }

  private static boolean isMissing(MismatchedInputException mismatch) {
    return mismatch.getOriginalMessage().startsWith("Missing required creator property");
  }

  /** Returns the path of a failure, such as {@code [3].ingress[0].toPorts[0].ports}. */
  private static String field(JacksonException failure) {
    final List<JacksonException.Reference> path = failure.getPath();
    final StringBuilder text = new StringBuilder();
    for (final JacksonException.Reference step : path) {
      if (step.getPropertyName() == null) {
        text.append('[').append(step.getIndex()).append(']');
      } else {
        text.append(text.isEmpty() ? "" : ".").append(printable(step.getPropertyName()));
      }
    }
    return text.isEmpty() ? "body" : text.toString();
  }

  private static String position(JacksonException failure) {
    final TokenStreamLocation location = failure.getLocation();
    return location == null || location.getLineNr() < 0
        ? ""
        : " at line " + location.getLineNr() + ", column " + location.getColumnNr();
  }

  private static String reason(JacksonException failure) {
    final String said = failure.getOriginalMessage().lines().findFirst().orElse("unreadable");
    return printable(PARSER_TERMS.split(said, 2)[0]);
  }

  private static String excess(StreamConstraintsException failure) {
    final String said = failure.getOriginalMessage();
    if (said.contains("nesting depth")) {
      return "is nested too deeply";
    }
    return said.contains("Number") ? "a number has too many digits" : "a string is too long";
  }

  private static String printable(String text) {
    final String safe = text.replaceAll("\\p{Cntrl}", "?");
    return safe.length() <= LONGEST_REASON ? safe : safe.substring(0, LONGEST_REASON) + "...";
  }

  private static String nameOf(Class<?> type) {
    if (type == null) {
      return "another value";
    }
    if (type == String.class) {
      return "a string";
    }
    if (type == Boolean.class || type == boolean.class) {
      return "true or false";
    }
    if (type == Integer.class || type == Long.class || type == int.class || type == long.class) {
      return "an integer";
    }
    if (type == Double.class || type == double.class) {
      return "a number";
    }
    return java.util.Collection.class.isAssignableFrom(type) ? "an array" : "an object";
  }
}
