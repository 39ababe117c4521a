package agent.launcher.log;

import agent.domain.proxy.MessageSink;
import org.apache.logging.log4j.core.LogEvent;
import org.apache.logging.log4j.core.appender.AbstractAppender;
import org.apache.logging.log4j.core.config.Property;

/** Passes messages to another process, in which they are logged. */
final class ForwardingAppender extends AbstractAppender {
  static final String NAME = "forwarding";

  private final MessageSink sink;

  ForwardingAppender(MessageSink sink) {
    super(NAME, null, null, true, Property.EMPTY_ARRAY);
    this.sink = sink;
  }

  @Override
  @SuppressWarnings("deprecation") // no other method has the pattern
  public void append(LogEvent event) {
    final Object[] parameters = event.getMessage().getParameters();
    final boolean hasParameters = parameters != null && parameters.length > 0;
    sink.onMessage(
        event.getLevel(),
        event.getLoggerName(),
        hasParameters ? event.getMessage().getFormat() : "",
        event.getMessage().getFormattedMessage());
  }
}
