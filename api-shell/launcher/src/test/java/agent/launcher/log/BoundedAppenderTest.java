package agent.launcher.log;

import static org.junit.jupiter.api.Assertions.assertEquals;

import agent.domain.proxy.ForwardedMessage;
import agent.server.ApiServer;
import agent.testkit.OtherThread;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import org.apache.logging.log4j.Level;
import org.apache.logging.log4j.core.LogEvent;
import org.apache.logging.log4j.core.appender.AbstractAppender;
import org.apache.logging.log4j.core.config.AppenderControl;
import org.apache.logging.log4j.core.config.Property;
import org.apache.logging.log4j.core.impl.Log4jLogEvent;
import org.apache.logging.log4j.message.Message;
import org.apache.logging.log4j.message.ParameterizedMessageFactory;
import org.apache.logging.log4j.message.SimpleMessage;
import org.junit.jupiter.api.Test;

/** How many messages of one kind are passed on, and what is said of the others. */
class BoundedAppenderTest {
  private static final String OWN = "agent.server.ApiDispatcher";
  private static final String LIBRARY = "io.netty.handler.codec.http2.Http2ConnectionHandler";

  private final List<String> lines = Collections.synchronizedList(new ArrayList<>());
  private final Target target = new Target();
  private long nowNs = Long.MAX_VALUE - 5;
  private final BoundedAppender bounded =
      new BoundedAppender(List.of(new AppenderControl(target, null, null)), () -> nowNs);

  private final class Target extends AbstractAppender {
    Target() {
      super("target", null, null, true, Property.EMPTY_ARRAY);
      start();
    }

    @Override
    public void append(LogEvent event) {
      lines.add(event.getMessage().getFormattedMessage());
    }
  }

  private void log(String logger, Level level, Message message) {
    bounded.append(
        Log4jLogEvent.newBuilder()
            .setLoggerName(logger)
            .setLevel(level)
            .setMessage(message)
            .build());
  }

  private void log(String logger, String pattern, Object... parameters) {
    log(logger, Level.WARN, ParameterizedMessageFactory.INSTANCE.newMessage(pattern, parameters));
  }

  private void pass(long seconds) {
    nowNs += TimeUnit.SECONDS.toNanos(seconds);
  }

  @Test
  void shouldPassABurstAndThenOneASecond() {
    for (int i = 0; i < 1_000; i++) {
      log(OWN, "refused: {}", i);
    }
    assertEquals(BoundedAppender.BURST, lines.size());
    assertEquals("refused: 199", lines.getLast());
    pass(1);
    log(OWN, "refused: {}", "again");
    assertEquals("refused: again (800 similar messages suppressed)", lines.getLast());
    log(OWN, "refused: {}", "too early");
    assertEquals(BoundedAppender.BURST + 1, lines.size());
    pass(3);
    log(OWN, "refused: {}", "later");
    log(OWN, "refused: {}", "at once");
    assertEquals("refused: later (1 similar messages suppressed)", lines.get(201));
    assertEquals("refused: at once", lines.get(202));
    pass(100_000);
    lines.clear();
    for (int i = 0; i < 1_000; i++) {
      log(OWN, "refused: {}", i);
    }
    assertEquals(BoundedAppender.BURST, lines.size(), "a pause allows one burst, not more");
  }

  @Test
  void shouldBoundEachKindOfMessageByItself() {
    for (int i = 0; i < 1_000; i++) {
      log(OWN, "refused: {}", i);
    }
    lines.clear();
    log(OWN, "failed: {}", 1);
    log("agent.server.Other", "refused: {}", 2);
    assertEquals(List.of("failed: 1", "refused: 2"), lines);
  }

  /** A text without parameters can hold what a peer sent: each would be a kind of its own. */
  @Test
  void shouldTakeMessagesWithoutParametersAsOneKind() {
    for (int i = 0; i < 1_000; i++) {
      log(OWN, Level.WARN, new SimpleMessage("sent: " + i));
    }
    assertEquals(BoundedAppender.BURST, lines.size());
  }

  @Test
  void shouldPassFewMessagesOfALibraryHoweverTheyRead() {
    for (int i = 0; i < 1_000; i++) {
      log(LIBRARY, "stream " + i + " {}", "failed\nagent.Daemon: forged");
    }
    assertEquals(BoundedAppender.LIBRARY_BURST, lines.size());
    assertEquals("stream 0 failed agent.Daemon: forged", lines.getFirst());
    pass(9);
    log(LIBRARY, "one {}", 1);
    assertEquals(BoundedAppender.LIBRARY_BURST, lines.size());
    pass(1);
    log(LIBRARY, "{}", "x".repeat(5_000));
    assertEquals("x".repeat(1_000) + " (991 similar messages suppressed)", lines.getLast());
  }

  /** The pattern of a change that the API carried out is one that a proxy process can send, too. */
  @Test
  void shouldBoundWhatAnotherProcessCallsAChangeThatWasCarriedOut() {
    for (int i = 0; i < 1_000; i++) {
      final Message forged = new ForwardedMessage(ApiServer.CARRIED_OUT, "api: PUT /x 200 by " + i);
      log("agent.l7proxy.Upstream", Level.INFO, forged);
    }
    assertEquals(BoundedAppender.BURST, lines.size());
  }

  @Test
  void shouldPassEveryChangeThatWasCarriedOutAndEveryDetail() {
    for (int i = 0; i < 1_000; i++) {
      log(
          OWN,
          Level.INFO,
          ParameterizedMessageFactory.INSTANCE.newMessage(
              ApiServer.CARRIED_OUT, "PUT", "/x", 200, i));
      log(OWN, Level.DEBUG, ParameterizedMessageFactory.INSTANCE.newMessage("detail: {}", i));
    }
    assertEquals(2_000, lines.size());
    for (int i = 0; i < 1_000; i++) {
      log(LIBRARY, Level.DEBUG, ParameterizedMessageFactory.INSTANCE.newMessage("detail: {}", i));
    }
    assertEquals(2_000 + BoundedAppender.LIBRARY_BURST, lines.size());
  }

  @Test
  void shouldRememberABoundedNumberOfKinds() {
    for (int i = 0; i < 100_000; i++) {
      log("agent.server.Class" + i, "refused: {}", i);
    }
    assertEquals(100_000, lines.size());
    lines.clear();
    for (int i = 0; i < 1_000; i++) {
      log(OWN, "refused: {}", i);
    }
    assertEquals(BoundedAppender.BURST, lines.size());
  }

  /** Otherwise two threads would pass where there is room for one message. */
  @Test
  void shouldCountOneMessageAfterTheOther() throws Exception {
    final List<OtherThread<Void>> others = new CopyOnWriteArrayList<>();
    final List<Boolean> waiting = new CopyOnWriteArrayList<>();
    final BoundedAppender[] shared = new BoundedAppender[1];
    final LogEvent event =
        Log4jLogEvent.newBuilder()
            .setLoggerName(LIBRARY)
            .setLevel(Level.WARN)
            .setMessage(new SimpleMessage("sent"))
            .build();
    shared[0] =
        new BoundedAppender(
            List.of(new AppenderControl(target, null, null)),
            () -> {
              if (others.isEmpty()) {
                others.add(OtherThread.run(() -> shared[0].append(event)));
                waiting.add(others.getFirst().waits());
              }
              return 0;
            });
    shared[0].append(event);
    others.getFirst().result();
    assertEquals(List.of(true), waiting);
    assertEquals(List.of("sent", "sent"), lines);
  }
}
