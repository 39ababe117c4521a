package agent.launcher;

import agent.bindings.process.ProcessAttributes;
import agent.dns.proxy.DnsProxyContext;
import agent.l7proxy.EscapedSlashes;
import agent.l7proxy.HttpProxyContext;
import agent.l7proxy.LogFile;
import agent.launcher.options.OptionException;
import agent.launcher.options.OptionPath;
import agent.launcher.options.OptionValues;
import agent.types.NumberOption;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/** The options of the proxies that policy sends flows to. */
final class ProxyOptions {
  private static final String ACCESS_LOG = "access-log";
  private static final String ENGINE_LOG = "proxy-engine-log";
  private static final int MOST_THREADS = 4;

  private final OptionValues options;

  ProxyOptions(OptionValues options) {
    this.options = options;
  }

  /** Returns the context of the HTTP proxy, as far as options say it. */
  HttpProxyContext http() {
    return new HttpProxyContext()
        .threads(Math.min(MOST_THREADS, Runtime.getRuntime().availableProcessors()))
        .descriptors(shares().http())
        .retries(options.number(HttpProxyContext.RETRY_COUNT))
        .retryTimeout(seconds(HttpProxyContext.RETRY_TIMEOUT))
        .connectTimeout(seconds(HttpProxyContext.CONNECT_TIMEOUT))
        .requestTimeout(seconds(HttpProxyContext.REQUEST_TIMEOUT))
        .idleTimeout(seconds(HttpProxyContext.IDLE_TIMEOUT))
        .grpcTimeout(seconds(HttpProxyContext.GRPC_TIMEOUT))
        .escapedSlashes(escapedSlashes())
        .accessLog(file(ACCESS_LOG).orElse(null));
  }

  /** Returns what becomes of requests whose path has escaped slashes. */
  EscapedSlashes escapedSlashes() {
    return options.text("http-escaped-slashes").equals("keep")
        ? EscapedSlashes.KEEP
        : EscapedSlashes.REJECT;
  }

  /** Returns the context of the DNS proxy, as far as options say it. */
  DnsProxyContext dns() {
    return new DnsProxyContext()
        .limits(shares().dns())
        .port(options.number(DnsProxyContext.PORT))
        .deniedIsNameError(options.text("tofqdns-dns-reject-response-code").equals("nameError"));
  }

  private static DescriptorShares shares() {
    return DescriptorShares.of(ProcessAttributes.descriptorLimit());
  }

  private Duration seconds(NumberOption option) {
    return Duration.ofSeconds(options.number(option));
  }

  /** Returns the file of what the proxies log, if there is one. */
  Optional<Path> log() {
    return file(ENGINE_LOG);
  }

  private Optional<Path> file(String option) {
    return OptionPath.ofOptional(option, options.text(option));
  }

  /**
   * Checks that the logs can be written, without creating them: the proxy opens the access log when
   * the first policy asks for one.
   *
   * @throws OptionException naming the file and why it cannot
   */
  void checkLogs() {
    for (final String option : List.of(ACCESS_LOG, ENGINE_LOG)) {
      final Optional<String> obstacle = file(option).flatMap(LogFile::obstacle);
      if (obstacle.isPresent()) {
        throw new OptionException("--" + option + ": " + obstacle.get());
      }
    }
  }
}
