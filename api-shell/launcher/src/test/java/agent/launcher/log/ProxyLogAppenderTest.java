package agent.launcher.log;

import static org.junit.jupiter.api.Assertions.assertEquals;

import agent.testkit.OtherThread;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.apache.logging.log4j.Level;
import org.apache.logging.log4j.core.LogEvent;
import org.apache.logging.log4j.core.impl.Log4jLogEvent;
import org.apache.logging.log4j.core.layout.AbstractStringLayout;
import org.apache.logging.log4j.message.SimpleMessage;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Messages of two threads in the log of the proxies. */
class ProxyLogAppenderTest {
  @TempDir private Path folder;
  private final List<OtherThread<Void>> others = new CopyOnWriteArrayList<>();
  private final List<Boolean> waiting = new CopyOnWriteArrayList<>();
  private ProxyLogAppender appender;

  /** Calls the appender in another thread, in the middle of the first message. */
  private final class CallingLayout extends AbstractStringLayout {
    CallingLayout() {
      super(StandardCharsets.UTF_8);
    }

    @Override
    public String toSerializable(LogEvent event) {
      if (others.isEmpty()) {
        others.add(OtherThread.run(() -> appender.append(event("next"))));
        waiting.add(others.getFirst().waits());
      }
      return event.getMessage().getFormattedMessage() + "\n";
    }
  }

  private static LogEvent event(String message) {
    return Log4jLogEvent.newBuilder()
        .setLoggerName("agent.l7proxy.HttpProxy")
        .setLevel(Level.WARN)
        .setMessage(new SimpleMessage(message))
        .build();
  }

  /** Otherwise what is left out would be said twice, or not at all. */
  @Test
  void shouldWriteOneMessageAfterTheOther() throws Exception {
    final Path file = folder.resolve("proxies.log");
    appender = ProxyLogAppender.open(file, new CallingLayout());
    appender.append(event("first"));
    others.getFirst().result();
    appender.stop();
    assertEquals(List.of(true), waiting);
    assertEquals("first\nnext\n", Files.readString(file));
  }
}
