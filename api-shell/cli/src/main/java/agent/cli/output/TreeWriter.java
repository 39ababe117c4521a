package agent.cli.output;

import java.util.List;
import java.util.Map;
import tools.jackson.core.JsonParser;

/** Writes a document step by step, so that its size is not limited by memory. */
public abstract class TreeWriter {
  /** Begins an object. */
  public abstract void startObject();

  /** Ends the object. */
  public abstract void endObject();

  /** Begins an array. */
  public abstract void startArray();

  /** Ends the array. */
  public abstract void endArray();

  /** Writes the name of the member that follows. */
  public abstract void name(String name);

  /** Writes a text. */
  public abstract void text(String text);

  /** Writes a number, a truth value or null as it stands. */
  public abstract void literal(String literal);

  /** Returns whether what was written is lost, so that more need not be. */
  public abstract boolean isBroken();

  /** Ends the document. */
  public abstract void end();

  /** Writes a value of {@link Tree}. */
  public final void value(Object value) {
    switch (value) {
      case Map<?, ?> members -> {
        startObject();
        members.forEach(
            (name, member) -> {
              name(name.toString());
              value(member);
            });
        endObject();
      }
      case List<?> elements -> {
        startArray();
        elements.forEach(this::value);
        endArray();
      }
      case String text -> text(text);
      case null -> literal("null");
      default -> literal(value.toString());
    }
  }

  /** Writes the token that the parser stands on. */
  public final void token(JsonParser json) {
    switch (json.currentToken()) {
      case START_OBJECT -> startObject();
      case END_OBJECT -> endObject();
      case START_ARRAY -> startArray();
      case END_ARRAY -> endArray();
      case PROPERTY_NAME -> name(json.currentName());
      case VALUE_STRING -> text(json.getString());
      default -> literal(json.getString());
    }
  }
}
