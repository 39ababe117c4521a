package agent.launcher.log;

import java.util.Map;
import org.apache.logging.log4j.Level;
import org.apache.logging.log4j.core.LoggerContext;
import org.apache.logging.log4j.core.appender.ConsoleAppender;
import org.apache.logging.log4j.core.config.Configuration;
import org.apache.logging.log4j.core.config.Configurator;
import org.apache.logging.log4j.core.config.builder.api.ConfigurationBuilder;
import org.apache.logging.log4j.core.config.builder.api.ConfigurationBuilderFactory;
import org.apache.logging.log4j.core.config.builder.impl.BuiltConfiguration;

/**
 * The log: lines on standard error with a UTC timestamp, and to the log daemon of the node where an
 * option asks for it.
 */
public final class AgentLog {
  private static final String LINE = "%d{yyyy-MM-dd'T'HH:mm:ss.SSSX}{UTC} %-5p %c{1}: %m%n%ex{0}";

  /** Set so that Log4j does not query the name service for it, which could delay the start. */
  private static final String HOST_NAME = "hostName";

  private static final String DEBUG_LINE =
      "%d{yyyy-MM-dd'T'HH:mm:ss.SSSX}{UTC} %-5p [%t] %c{1}: %m%n%ex";

  /** Levels of libraries, whose messages below WARN are not logged. */
  private static final Map<String, Level> LIBRARIES =
      Map.of(
          "io.undertow", Level.WARN,
          "org.xnio", Level.WARN,
          "org.jboss", Level.WARN,
          "net.openhft", Level.WARN);

  private AgentLog() {}

  /**
   * Starts the log, or continues it with other options.
   *
   * @throws IllegalArgumentException naming the option where the log daemon cannot be reached; then
   *     nothing has changed
   */
  public static void start(LogOptions options) {
    final SyslogAppender syslog = options.syslog().map(SyslogAppender::connect).orElse(null);
    final Configuration configuration = configuration(options);
    final LoggerContext context = Configurator.initialize(configuration);
    if (context.getConfiguration() != configuration) {
      context.reconfigure(configuration);
    }
    if (syslog != null) {
      syslog.start();
      configuration.addAppender(syslog);
      configuration.getRootLogger().addAppender(syslog, syslog.level(), null);
      context.updateLoggers();
    }
  }

  /** Returns the configuration of the log; stack traces are logged at debug level only. */
  static Configuration configuration(LogOptions options) {
    final ConfigurationBuilder<BuiltConfiguration> log =
        ConfigurationBuilderFactory.newConfigurationBuilder();
    log.setConfigurationName("console").setStatusLevel(Level.ERROR);
    log.setShutdownHook("disable");
    log.add(
        log.newAppender("console", "Console")
            .addAttribute("target", ConsoleAppender.Target.SYSTEM_ERR)
            .addAttribute("direct", true)
            .add(
                log.newLayout("PatternLayout")
                    .addAttribute("pattern", options.isDetailed() ? DEBUG_LINE : LINE)));
    LIBRARIES.forEach((name, level) -> log.add(log.newLogger(name, level)));
    options.verbosePackages().forEach(prefix -> log.add(log.newLogger(prefix, Level.TRACE)));
    log.add(
        log.newRootLogger(options.debug() ? Level.DEBUG : Level.INFO)
            .add(log.newAppenderRef("console")));
    final BuiltConfiguration configuration = log.build(false);
    configuration.getProperties().put(HOST_NAME, "localhost");
    return configuration;
  }
}
