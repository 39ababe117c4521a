package agent.contract;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.annotation.Nulls;
import java.time.Instant;
import java.time.format.DateTimeFormatter;
import java.time.format.DateTimeFormatterBuilder;
import java.util.Locale;
import tools.jackson.core.StreamReadConstraints;
import tools.jackson.core.StreamReadFeature;
import tools.jackson.core.json.JsonFactory;
import tools.jackson.databind.DeserializationFeature;
import tools.jackson.databind.MapperFeature;
import tools.jackson.databind.SerializationFeature;
import tools.jackson.databind.cfg.CoercionAction;
import tools.jackson.databind.cfg.CoercionInputShape;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.type.LogicalType;

/**
 * How the contract is read and written, in one place.
 *
 * <p>The agent reads requests strictly: an unknown or repeated field and a value of another type
 * are refused. A client reads answers leniently, so that a newer agent may say more.
 */
public final class WireFormat {
  private static final int MAX_NESTING_DEPTH = 64;
  private static final int MAX_NUMBER_LENGTH = 64;
  private static final DateTimeFormatter TIMESTAMP =
      new DateTimeFormatterBuilder().appendInstant(3).toFormatter(Locale.ROOT);

  private WireFormat() {}

  /** Made when it is first asked for; a client has no use for it. */
  private static final class Strict {
    static final JsonMapper MAPPER =
        builder()
            .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
            .enable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES)
            .enable(DeserializationFeature.FAIL_ON_NULL_FOR_PRIMITIVES)
            .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
            .enable(DeserializationFeature.FAIL_ON_READING_DUP_TREE_KEY)
            .changeDefaultNullHandling(handling -> handling.withContentNulls(Nulls.FAIL))
            .build();
  }

  /** Returns the one mapper of the agent: strict in what it reads, safe for every thread. */
  public static JsonMapper strictMapper() {
    return Strict.MAPPER;
  }

  /** Returns the mapper of a client: it passes over fields that it does not know. */
  public static JsonMapper lenientMapper() {
    return builder().disable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES).build();
  }

  /** Returns the time as the contract writes it: RFC 3339, UTC, milliseconds. */
  public static String timestamp(Instant instant) {
    return TIMESTAMP.format(instant);
  }

  /** Does so for milliseconds since 1970. */
  public static String timestamp(long epochMs) {
    return timestamp(Instant.ofEpochMilli(epochMs));
  }

  private static JsonMapper.Builder builder() {
    final JsonFactory factory =
        JsonFactory.builder()
            .streamReadConstraints(
                StreamReadConstraints.builder()
                    .maxNestingDepth(MAX_NESTING_DEPTH)
                    .maxNumberLength(MAX_NUMBER_LENGTH)
                    .build())
            .build();
    return JsonMapper.builder(factory)
        .changeDefaultPropertyInclusion(
            inclusion -> inclusion.withValueInclusion(JsonInclude.Include.NON_ABSENT))
        .disable(MapperFeature.ALLOW_COERCION_OF_SCALARS)
        .disable(DeserializationFeature.ACCEPT_FLOAT_AS_INT)
        .disable(DeserializationFeature.ACCEPT_EMPTY_STRING_AS_NULL_OBJECT)
        .disable(SerializationFeature.FAIL_ON_EMPTY_BEANS)
        .withCoercionConfig(
            LogicalType.Textual,
            config ->
                config
                    .setCoercion(CoercionInputShape.Integer, CoercionAction.Fail)
                    .setCoercion(CoercionInputShape.Float, CoercionAction.Fail)
                    .setCoercion(CoercionInputShape.Boolean, CoercionAction.Fail))
        .withCoercionConfigDefaults(
            config -> config.setCoercion(CoercionInputShape.EmptyString, CoercionAction.Fail));
  }
}
