package agent.launcher.log;

import agent.domain.proxy.MessageSink;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.apache.logging.log4j.Level;
import org.apache.logging.log4j.core.LoggerContext;
import org.apache.logging.log4j.core.appender.ConsoleAppender;
import org.apache.logging.log4j.core.config.AppenderControl;
import org.apache.logging.log4j.core.config.Configuration;
import org.apache.logging.log4j.core.config.ConfigurationFactory;
import org.apache.logging.log4j.core.config.Configurator;
import org.apache.logging.log4j.core.config.LoggerConfig;
import org.apache.logging.log4j.core.config.status.StatusConfiguration;

/**
 * The log: lines on standard error with a UTC timestamp, and to the log daemon of the node where an
 * option asks for it.
 */
public final class AgentLog {
  private static final String CONSOLE = "console";

  /** The logger of the agent; all others are those of libraries. */
  private static final String OWN = "agent";

  /** Discards the log of the JDK, which no message of the agent uses. */
  private static final String JDK_LOG_CONFIGURATION = "java.util.logging.config.file";

  /** What the log of the proxies is made of. */
  private static final List<String> PROXIES =
      List.of(
          "agent.l7proxy",
          "agent.dns.proxy",
          "agent.datapath.spec.ProxyPorts",
          "agent.domain.proxy");

  private AgentLog() {}

  /**
   * Makes a logger that is created before {@link #start} or {@link #forward} write to standard
   * error, and Log4j load none of its plugins. Called by the first thread, whose class loader
   * others inherit.
   */
  public static void prepare() {
    final Thread thread = Thread.currentThread();
    thread.setContextClassLoader(new UsedPlugins(thread.getContextClassLoader()));
    System.setProperty(
        ConfigurationFactory.CONFIGURATION_FACTORY_PROPERTY, FirstConfiguration.class.getName());
  }

  /**
   * Starts the log, or continues it with other options.
   *
   * @throws IllegalArgumentException naming the option where the log daemon cannot be reached, or
   *     the file of the proxies cannot be opened; then nothing has changed
   */
  public static void start(LogOptions options) {
    final SyslogAppender syslog = options.syslog().map(SyslogAppender::connect).orElse(null);
    final ProxyLogAppender proxies;
    try {
      proxies =
          options
              .proxyLog()
              .map(file -> ProxyLogAppender.open(file, new LineLayout(options.isDetailed())))
              .orElse(null);
    } catch (IllegalArgumentException e) {
      if (syslog != null) {
        syslog.stop();
      }
      throw e;
    }
    final Configuration configuration = configuration(options);
    final LoggerContext context = install(configuration);
    final List<AppenderControl> targets = new ArrayList<>();
    targets.add(new AppenderControl(configuration.getAppender(CONSOLE), null, null));
    if (syslog != null) {
      syslog.start();
      configuration.addAppender(syslog);
      targets.add(new AppenderControl(syslog, syslog.level(), null));
    }
    bound(configuration, targets);
    if (proxies != null) {
      proxies.start();
      configuration.addAppender(proxies);
      PROXIES.forEach(name -> configuration.addLogger(name, proxyLogger(name, configuration)));
    }
    context.updateLoggers();
  }

  /** Makes all loggers use a configuration, also where there is one before. */
  private static LoggerContext install(Configuration configuration) {
    System.setProperty(JDK_LOG_CONFIGURATION, "/dev/null");
    final LoggerContext context = Configurator.initialize(configuration);
    if (context.getConfiguration() != configuration) {
      context.reconfigure(configuration);
    }
    return context;
  }

  /**
   * Forwards messages from INFO on to another process.
   *
   * @return sets another level
   */
  public static Consumer<Level> forward(MessageSink sink) {
    new StatusConfiguration().withStatus(Level.OFF).initialize();
    final LogConfiguration configuration = new LogConfiguration(ForwardingAppender.NAME);
    configuration.log(OWN, Level.INFO);
    final LoggerContext context = install(configuration);
    final ForwardingAppender appender = new ForwardingAppender(sink);
    appender.start();
    configuration.addAppender(appender);
    configuration.getRootLogger().addAppender(appender, null, null);
    context.updateLoggers();
    return level -> {
      configuration.getLoggerConfig(OWN).setLevel(level);
      context.updateLoggers();
    };
  }

  /** Puts the bound before everything that messages go to. */
  private static void bound(Configuration configuration, List<AppenderControl> targets) {
    final BoundedAppender bounded = new BoundedAppender(targets, System::nanoTime);
    bounded.start();
    configuration.addAppender(bounded);
    configuration.getRootLogger().removeAppender(CONSOLE);
    configuration.getRootLogger().addAppender(bounded, null, null);
  }

  /** The file has the details; what else is logged gets the messages that it gets without it. */
  private static LoggerConfig proxyLogger(String name, Configuration configuration) {
    final Level level = configuration.getLoggerConfig(OWN).getLevel();
    final LoggerConfig logger = new LoggerConfig(name, Level.DEBUG, false);
    logger.addAppender(configuration.getAppender(ProxyLogAppender.NAME), Level.DEBUG, null);
    logger.addAppender(configuration.getAppender(BoundedAppender.NAME), level, null);
    return logger;
  }

  /** Opens the file of the proxies by its name again, if there is one. */
  public static void reopen() {
    final Configuration configuration = LoggerContext.getContext(false).getConfiguration();
    if (configuration.getAppender(ProxyLogAppender.NAME) instanceof ProxyLogAppender proxies) {
      proxies.reopen();
    }
  }

  /**
   * Returns the configuration of the log; stack traces are logged at debug level only, and of
   * libraries nothing below WARN.
   */
  static Configuration configuration(LogOptions options) {
    final LogConfiguration configuration = new LogConfiguration(CONSOLE);
    configuration.log(OWN, options.debug() ? Level.DEBUG : Level.INFO);
    options.verbosePackages().forEach(prefix -> configuration.log(prefix, Level.TRACE));
    final ConsoleAppender console =
        ConsoleAppender.newBuilder()
            .setName(CONSOLE)
            .setTarget(ConsoleAppender.Target.SYSTEM_ERR)
            .setDirect(true)
            .setLayout(new LineLayout(options.isDetailed()))
            .build();
    configuration.addAppender(console);
    configuration.getRootLogger().addAppender(console, null, null);
    return configuration;
  }
}
