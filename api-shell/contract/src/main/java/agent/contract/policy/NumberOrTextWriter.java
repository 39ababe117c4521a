package agent.contract.policy;

import tools.jackson.core.JsonGenerator;
import tools.jackson.databind.SerializationContext;
import tools.jackson.databind.ValueSerializer;

/** Writes the digits of a number as a number, and all else as text. */
final class NumberOrTextWriter extends ValueSerializer<String> {
  @Override
  public void serialize(String text, JsonGenerator json, SerializationContext context) {
    if (text.matches("0|[1-9][0-9]{0,8}")) {
      json.writeNumber(Integer.parseInt(text));
    } else {
      json.writeString(text);
    }
  }
}
