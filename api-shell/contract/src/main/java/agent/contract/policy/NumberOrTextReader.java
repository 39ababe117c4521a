package agent.contract.policy;

import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;
import tools.jackson.databind.DeserializationContext;
import tools.jackson.databind.ValueDeserializer;

/** Reads what people write as {@code "80"}, as {@code 80} or by a name. */
final class NumberOrTextReader extends ValueDeserializer<String> {
  @Override
  public String deserialize(JsonParser parser, DeserializationContext context) {
    if (!parser.hasToken(JsonToken.VALUE_STRING) && !parser.hasToken(JsonToken.VALUE_NUMBER_INT)) {
      context.handleUnexpectedToken(context.constructType(String.class), parser); // throws
    }
    return parser.getString();
  }
}
