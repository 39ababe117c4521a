package agent.domain.proxy;

import org.apache.logging.log4j.Level;

/** Hears of the messages of this process. */
@FunctionalInterface
public interface MessageSink {
  /**
   * A message; any thread may call.
   *
   * @param format the pattern of the message; empty: it has none
   */
  void onMessage(Level level, String logger, String format, String text);
}
