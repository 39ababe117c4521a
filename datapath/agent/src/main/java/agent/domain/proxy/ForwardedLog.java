package agent.domain.proxy;

import java.io.DataInput;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Function;
import org.apache.logging.log4j.Level;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * Logs what a proxy process has to say, as the loggers do that it names. Used by the thread that
 * reads the frames; the errors have one of their own.
 */
final class ForwardedLog {
  private static final Logger LOGGER = LogManager.getLogger(ForwardedLog.class);

  /** Returns a logger of another class, whose messages are those of the same class over there. */
  private static final Function<String, Logger> LOGGERS = LogManager.getContext(false)::getLogger;

  /** All others are this one, which is bounded as those of a library are. */
  private static final String LIBRARIES = "proxy process";

  /** The loggers of the proxies; the process can name no others. */
  private static final List<String> PREFIXES =
      List.of("agent.l7proxy.", "agent.dns.proxy.", "agent.datapath.spec.ProxyPorts");

  /** The proxies have fewer loggers and patterns of messages; more would be invented ones. */
  private static final int MOST_NAMES = 256;

  private static final int LONGEST_TEXT = 4_096;
  private static final int MOST_ERROR_BYTES = 64 * 1024;
  private static final String PROXIES = "agent.l7proxy";

  private final Set<String> loggers = new HashSet<>();
  private final Set<String> formats = new HashSet<>();

  /** Returns the level from which on the proxies log. */
  static Level level() {
    return LOGGERS.apply(PROXIES).getLevel();
  }

  /** Logs a message. */
  void message(DataInput in) throws IOException {
    final Level level = Level.toLevel(Wire.readText(in), Level.INFO);
    final String name = Wire.readText(in);
    final String format = Wire.readText(in);
    final String text = cut(Wire.readText(in));
    final boolean isKnown = PREFIXES.stream().anyMatch(name::startsWith) && isOneOf(loggers, name);
    if (isKnown) {
      LOGGERS
          .apply(name)
          .log(level, new ForwardedMessage(isOneOf(formats, format) ? format : "", text));
    } else {
      LOGGERS.apply(LIBRARIES).log(level, new ForwardedMessage("", cut(name) + ": " + text));
    }
  }

  private static boolean isOneOf(Set<String> names, String name) {
    return names.contains(name)
        || name.length() <= LONGEST_TEXT && names.size() < MOST_NAMES && names.add(name);
  }

  /** Logs the beginning of an output, and reads it to its end. */
  static void errors(InputStream from) throws IOException {
    final byte[] buffer = new byte[LONGEST_TEXT];
    int logged = 0;
    for (int count = from.read(buffer); count >= 0; count = from.read(buffer)) {
      if (logged < MOST_ERROR_BYTES) {
        logged += count;
        new String(buffer, 0, count, StandardCharsets.UTF_8)
            .lines()
            .forEach(line -> LOGGER.warn(new ForwardedMessage("", "proxy process: " + line)));
      }
    }
  }

  private static String cut(String text) {
    return text.length() <= LONGEST_TEXT ? text : text.substring(0, LONGEST_TEXT);
  }
}
