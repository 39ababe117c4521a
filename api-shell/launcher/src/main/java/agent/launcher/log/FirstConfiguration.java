package agent.launcher.log;

import java.net.URI;
import java.util.List;
import java.util.Map;
import org.apache.logging.log4j.core.LoggerContext;
import org.apache.logging.log4j.core.config.Configuration;
import org.apache.logging.log4j.core.config.ConfigurationFactory;
import org.apache.logging.log4j.core.config.ConfigurationSource;

/**
 * The configuration of the log until the options are checked. The usual one of Log4j looks for
 * files and asks the name service for the name of this host, which waits for a name server that is
 * gone.
 */
public final class FirstConfiguration extends ConfigurationFactory {
  private static final LogOptions OPTIONS = LogOptions.of(false, List.of(), List.of(), Map.of());

  /** For Log4j, which finds this class by its name. */
  public FirstConfiguration() {}

  @Override
  protected String[] getSupportedTypes() {
    return new String[] {"*"};
  }

  @Override
  public Configuration getConfiguration(LoggerContext context, ConfigurationSource source) {
    return AgentLog.configuration(OPTIONS);
  }

  @Override
  public Configuration getConfiguration(LoggerContext context, String name, URI location) {
    return AgentLog.configuration(OPTIONS);
  }
}
