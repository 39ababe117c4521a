package agent.launcher.log;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.function.Function;
import org.apache.logging.log4j.Level;

/**
 * What is logged, and where besides standard error.
 *
 * @param debug whether debug messages are logged
 * @param groups the groups whose most detailed messages are logged, too
 * @param syslog the log daemon of the node, where it gets the messages
 * @param proxyLog the file that has what the proxies log, too, with details
 */
public record LogOptions(
    boolean debug, List<String> groups, Optional<Syslog> syslog, Optional<Path> proxyLog) {
  /** The packages of each group of {@code --debug-verbose}. */
  static final Map<String, List<String>> GROUPS =
      new TreeMap<>(
          Map.of(
              "api", List.of("agent.server"),
              "datapath", List.of("agent.datapath", "agent.maps", "agent.conntrack"),
              "endpoint", List.of("agent.endpoint"),
              "identity", List.of("agent.identity", "agent.ipcache"),
              "ipam", List.of("agent.ipam"),
              "node", List.of("agent.node"),
              "policy", List.of("agent.policy"),
              "state", List.of("agent.state")));

  private static final String SYSLOG = "syslog";
  private static final List<String> FACILITIES =
      List.of(
          "kern",
          "user",
          "mail",
          "daemon",
          "auth",
          "syslog",
          "lpr",
          "news",
          "uucp",
          "cron",
          "authpriv",
          "ftp");
  private static final int LOCAL0 = 16;

  /**
   * The log daemon of the node.
   *
   * @param socket its datagram socket
   * @param level the least level of a message
   * @param facility number of the facility (RFC 5424, 6.2.1)
   * @param tag what its lines begin with
   */
  public record Syslog(Path socket, Level level, int facility, String tag) {
    static final Syslog DEFAULT = new Syslog(Path.of("/dev/log"), Level.INFO, 3, "agent");

    private Syslog with(String option, String value) {
      return switch (option) {
        case "syslog.socket" -> new Syslog(absolute(value), level, facility, tag);
        case "syslog.level" -> new Syslog(socket, levelOf(value), facility, tag);
        case "syslog.facility" -> new Syslog(socket, level, facilityOf(value), tag);
        case "syslog.tag" -> new Syslog(socket, level, facility, word(value));
        default ->
            throw new IllegalArgumentException(
                "log-opt: '"
                    + option
                    + "' is not one of syslog.socket, syslog.level, syslog.facility, syslog.tag");
      };
    }
  }

  /**
   * Reads the values of the options.
   *
   * @param debug {@code --debug}
   * @param groups {@code --debug-verbose}
   * @param drivers {@code --log-driver}
   * @param options {@code --log-opt}
   * @throws IllegalArgumentException naming the option and what is wrong
   */
  public static LogOptions of(
      boolean debug, List<String> groups, List<String> drivers, Map<String, String> options) {
    for (final String group : groups) {
      require(
          GROUPS.containsKey(group),
          "debug-verbose: '" + group + "' is not one of " + String.join(", ", GROUPS.keySet()));
    }
    for (final String driver : drivers) {
      require(driver.equals(SYSLOG), "log-driver: '" + driver + "' is not a log driver: " + SYSLOG);
    }
    require(options.isEmpty() || !drivers.isEmpty(), "log-opt: has no effect without --log-driver");
    Syslog syslog = Syslog.DEFAULT;
    for (final Map.Entry<String, String> option : options.entrySet()) {
      syslog = syslog.with(option.getKey(), option.getValue());
    }
    return new LogOptions(
        debug,
        List.copyOf(groups),
        drivers.isEmpty() ? Optional.empty() : Optional.of(syslog),
        Optional.empty());
  }

  /**
   * Returns these options with a file of the proxies.
   *
   * @param file {@code --proxy-engine-log}
   */
  public LogOptions withProxyLog(Optional<Path> file) {
    return new LogOptions(debug, groups, syslog, file);
  }

  /** Returns whether lines name threads and show stack traces. */
  boolean isDetailed() {
    return debug || !groups.isEmpty();
  }

  /** Returns the packages of all groups that are asked for. */
  List<String> verbosePackages() {
    final List<String> packages = new ArrayList<>();
    groups.forEach(group -> packages.addAll(GROUPS.get(group)));
    return packages;
  }

  private static Path absolute(String text) {
    require(text.startsWith("/"), "log-opt: syslog.socket: '" + text + "' is not a path");
    return Path.of(text);
  }

  private static Level levelOf(String text) {
    return found("syslog.level", text, name -> Level.getLevel(name.toUpperCase(Locale.ROOT)));
  }

  private static int facilityOf(String text) {
    return found("syslog.facility", text, LogOptions::facilityNumber);
  }

  private static Integer facilityNumber(String name) {
    if (name.matches("local[0-7]")) {
      return LOCAL0 + name.charAt(name.length() - 1) - '0';
    }
    final int number = FACILITIES.indexOf(name);
    return number < 0 ? null : number;
  }

  private static String word(String text) {
    require(
        text.matches("[A-Za-z0-9_.-]{1,32}"),
        "log-opt: syslog.tag: '" + text + "' is not a word of at most 32 characters");
    return text;
  }

  private static <T> T found(String option, String text, Function<String, T> reader) {
    final T value = reader.apply(text);
    require(value != null, "log-opt: " + option + ": '" + text + "' is not known");
    return value;
  }

  private static void require(boolean isValid, String message) {
    if (!isValid) {
      throw new IllegalArgumentException(message);
    }
  }
}
