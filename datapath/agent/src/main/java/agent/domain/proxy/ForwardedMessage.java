package agent.domain.proxy;

import org.apache.logging.log4j.message.Message;

/**
 * A message of another process. Its pattern is the kind whose rate is bounded.
 *
 * @param format the pattern; empty: it has none
 * @param text the message, of which control characters are replaced
 */
public record ForwardedMessage(String format, String text) implements Message {
  /** Creates a message of one line. */
  public ForwardedMessage {
    text = text.replaceAll("\\p{Cntrl}", " ");
  }

  @Override
  public String getFormattedMessage() {
    return text;
  }

  @Override
  @SuppressWarnings("deprecation") // the bound of the log asks it
  public String getFormat() {
    return format;
  }

  @Override
  public Object[] getParameters() {
    return format.isEmpty() ? new Object[0] : new Object[] {text};
  }

  @Override
  public Throwable getThrowable() {
    return null;
  }
}
