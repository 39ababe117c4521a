package agent.launcher.log;

import org.apache.logging.log4j.Level;
import org.apache.logging.log4j.core.config.AbstractConfiguration;
import org.apache.logging.log4j.core.config.AppenderRef;
import org.apache.logging.log4j.core.config.ConfigurationSource;
import org.apache.logging.log4j.core.config.LoggerConfig;

/**
 * A configuration of Log4j that is put together by calls. Those that it reads or builds load and
 * inspect all of its plugins, which takes a tenth of the processor time of a start.
 */
final class LogConfiguration extends AbstractConfiguration {
  /** Set so that Log4j does not query the name service for it, which could delay the start. */
  private static final String HOST_NAME = "hostName";

  /** Creates a configuration without appenders, which logs warnings. */
  LogConfiguration(String name) {
    super(null, ConfigurationSource.NULL_SOURCE);
    setName(name);
    isShutdownHookEnabled = false;
    getProperties().put(HOST_NAME, "localhost");
    getRootLogger().setLevel(Level.WARN);
  }

  /** Sets from which level on the loggers below a name log. */
  void log(String name, Level level) {
    addLogger(
        name,
        LoggerConfig.newBuilder()
            .setLoggerName(name)
            .setLevel(level)
            .setAdditivity(true)
            .setRefs(new AppenderRef[0])
            .setConfig(this)
            .build());
  }

  @Override
  public void initialize() {
    setState(State.INITIALIZED);
  }
}
