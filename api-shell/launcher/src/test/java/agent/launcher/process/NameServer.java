package agent.launcher.process;

import agent.testkit.NetworkNamespace;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** A DNS server (dnsmasq) of one domain, in a namespace; its records can change. */
final class NameServer implements AutoCloseable {
  private final NetworkNamespace namespace;
  private final String address;
  private final Path hosts;
  private final Path log;
  private Process process;

  private NameServer(NetworkNamespace namespace, String address) throws IOException {
    this.namespace = namespace;
    this.address = address;
    hosts = Files.createTempFile("names-", ".hosts");
    log = Files.createTempFile("names-", ".log");
  }

  /** Starts a server without records at the port 53 of an address. */
  static NameServer start(NetworkNamespace namespace, String address) throws Exception {
    final NameServer server = new NameServer(namespace, address);
    server.begin();
    return server;
  }

  /** Starts it again after {@link #stop}. */
  void begin() throws Exception {
    process =
        new ProcessBuilder(
                List.of(
                    namespace.inside(
                        "dnsmasq",
                        "--keep-in-foreground",
                        "--conf-file=/dev/null",
                        "--no-resolv",
                        "--no-hosts",
                        "--no-daemon",
                        "--user=root",
                        "--pid-file",
                        "--bind-interfaces",
                        "--listen-address=" + address,
                        "--local=/example.com/",
                        "--local-ttl=1",
                        "--cname=alias.example.com,www.example.com",
                        "--addn-hosts=" + hosts)))
            .redirectErrorStream(true)
            .redirectOutput(log.toFile())
            .start();
    for (int i = 0; !Files.readString(log).contains("started"); i++) {
      if (i == 500 || !process.isAlive()) {
        throw new IllegalStateException("dnsmasq: " + Files.readString(log));
      }
      Thread.sleep(20);
    }
  }

  /** Replaces all records: lines of {@code hosts(5)}. */
  void records(String... lines) throws Exception {
    Files.write(hosts, List.of(lines));
    new ProcessBuilder("kill", "-HUP", Long.toString(process.pid())).start().waitFor();
  }

  /** It does not answer after this. */
  void stop() throws InterruptedException {
    process.destroyForcibly();
    process.waitFor(10, TimeUnit.SECONDS);
  }

  @Override
  public void close() throws IOException {
    process.destroyForcibly().onExit().join();
    Files.deleteIfExists(hosts);
    Files.deleteIfExists(log);
  }
}
