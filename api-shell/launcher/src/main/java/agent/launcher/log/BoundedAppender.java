package agent.launcher.log;

import agent.domain.proxy.ForwardedMessage;
import agent.server.ApiServer;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.apache.logging.log4j.Level;
import org.apache.logging.log4j.core.LogEvent;
import org.apache.logging.log4j.core.appender.AbstractAppender;
import org.apache.logging.log4j.core.config.AppenderControl;
import org.apache.logging.log4j.core.config.Property;
import org.apache.logging.log4j.core.impl.Log4jLogEvent;
import org.apache.logging.log4j.message.SimpleMessage;

/**
 * Passes messages on at a bounded rate: what peers send can cause messages, and the log is on the
 * disk of the node. Messages of one kind share a rate, a kind being the pattern of a message of the
 * agent, or a logger of a library. The next message of a kind that is passed on says how many are
 * left out. Changes that the API carried out, and details that an option asks for, have no bound.
 */
final class BoundedAppender extends AbstractAppender {
  static final String NAME = "bounded";

  /** How many messages of a kind of the agent are passed on at once, then one a second. */
  static final int BURST = 200;

  /** The same for a logger of a library, then one in ten seconds. */
  static final int LIBRARY_BURST = 10;

  private static final long INTERVAL_NS = TimeUnit.SECONDS.toNanos(1);
  private static final long LIBRARY_INTERVAL_NS = TimeUnit.SECONDS.toNanos(10);
  private static final int MOST_KINDS = 512;
  private static final int LONGEST_LIBRARY_MESSAGE = 1_000;
  private static final String OWN = "agent.";

  private final List<AppenderControl> targets;
  private final LongSupplier nanoClock;
  private final Map<String, Rate> rates =
      new LinkedHashMap<>(64, 0.75f, true) {
        private static final long serialVersionUID = 1;

        @Override
        protected boolean removeEldestEntry(Map.Entry<String, Rate> eldest) {
          return size() > MOST_KINDS;
        }
      };

  BoundedAppender(List<AppenderControl> targets, LongSupplier nanoClock) {
    super(NAME, null, null, true, Property.EMPTY_ARRAY);
    this.targets = List.copyOf(targets);
    this.nanoClock = nanoClock;
  }

  @Override
  public void append(LogEvent event) {
    final boolean isOwn = event.getLoggerName().startsWith(OWN);
    if (isOwn && hasNoBound(event)) {
      pass(event);
      return;
    }
    final long leftOut;
    synchronized (rates) {
      final Rate rate = rates.computeIfAbsent(kind(event, isOwn), kind -> rate(isOwn));
      leftOut = rate.admit(nanoClock.getAsLong());
    }
    if (leftOut == 0 && isOwn) {
      pass(event);
    } else if (leftOut >= 0) {
      pass(said(event, isOwn, leftOut));
    }
  }

  private void pass(LogEvent event) {
    targets.forEach(target -> target.callAppender(event));
  }

  /** Another process can say that it carried something out, but has not done so. */
  private static boolean hasNoBound(LogEvent event) {
    return event.getLevel().isLessSpecificThan(Level.DEBUG)
        || ApiServer.CARRIED_OUT.equals(pattern(event))
            && !(event.getMessage() instanceof ForwardedMessage);
  }

  private Rate rate(boolean isOwn) {
    return isOwn
        ? new Rate(BURST, INTERVAL_NS, nanoClock.getAsLong())
        : new Rate(LIBRARY_BURST, LIBRARY_INTERVAL_NS, nanoClock.getAsLong());
  }

  /** A message without parameters may hold what a peer sent: its text is no kind. */
  private static String kind(LogEvent event, boolean isOwn) {
    final String logger = event.getLoggerName();
    final Object[] parameters = event.getMessage().getParameters();
    return isOwn && parameters != null && parameters.length > 0
        ? logger + ' ' + pattern(event)
        : logger;
  }

  @SuppressWarnings("deprecation") // no other method has the pattern
  private static String pattern(LogEvent event) {
    return event.getMessage().getFormat();
  }

  /** Returns the message with what is left out; that of a library in one line. */
  private static LogEvent said(LogEvent event, boolean isOwn, long leftOut) {
    String text = event.getMessage().getFormattedMessage();
    if (!isOwn) {
      text =
          text.substring(0, Math.min(text.length(), LONGEST_LIBRARY_MESSAGE))
              .replaceAll("\\p{Cntrl}", " ");
    }
    if (leftOut > 0) {
      text += " (" + leftOut + " similar messages suppressed)";
    }
    return new Log4jLogEvent.Builder(event).setMessage(new SimpleMessage(text)).build();
  }

  /** A bucket of messages, and how many found it empty. */
  private static final class Rate {
    private final int burst;
    private final long intervalNs;

    /** The messages that may pass now are those whose time has come since then. */
    private long spentNs;

    private long leftOut;

    Rate(int burst, long intervalNs, long nowNs) {
      this.burst = burst;
      this.intervalNs = intervalNs;
      spentNs = nowNs - burst * intervalNs;
    }

    /** Returns how many were left out before a message that may pass, -1 where it may not. */
    long admit(long nowNs) {
      if (nowNs - spentNs > burst * intervalNs) {
        spentNs = nowNs - burst * intervalNs;
      }
      if (nowNs - spentNs < intervalNs) {
        leftOut++;
        return -1;
      }
      spentNs += intervalNs;
      final long before = leftOut;
      leftOut = 0;
      return before;
    }
  }
}
