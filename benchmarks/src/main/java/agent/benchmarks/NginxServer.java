package agent.benchmarks;

import agent.testkit.NetworkNamespace;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/** Debian's nginx in a namespace, as a server with answers of 1 KiB or as a reverse proxy. */
final class NginxServer implements AutoCloseable {
  static final int BODY_BYTES = 1024;
  private static final long LONGEST_START_SEC = 20;

  /** Connections stay open, requests are not logged, and both cores are used. */
  private static final String CONFIGURATION =
      """
      user root;
      worker_processes %d;
      daemon off;
      pid nginx.pid;
      error_log error.log crit;
      events { worker_connections 16384; }
      http {
        access_log off;
        tcp_nodelay on;
        keepalive_timeout 3600s;
        keepalive_requests 1000000000;
        client_body_temp_path body;
        proxy_temp_path proxy;
        fastcgi_temp_path fastcgi;
        uwsgi_temp_path uwsgi;
        scgi_temp_path scgi;
        %s
      }
      """;

  private static final String ORIGIN =
      """
      server {
        listen 8080 reuseport;
        listen 8081 reuseport;
        location / { return 200 "%s"; }
      }
      """;

  private static final String PROXY =
      """
      upstream origin {
        server %s:8080;
        keepalive 128;
        keepalive_requests 1000000000;
        keepalive_timeout 3600s;
      }
      server {
        listen 8080 reuseport;
        location ~ ^/public(/.*)?$ {
          limit_except GET { deny all; }
          proxy_pass http://origin;
          proxy_http_version 1.1;
          proxy_set_header Connection "";
          proxy_set_header Host $http_host;
        }
        location / { return 403; }
      }
      """;

  private final Path folder = Files.createTempDirectory("agent-nginx-");
  private final Process process;

  private NginxServer(NetworkNamespace namespace, int workers, String servers) throws Exception {
    final Path file = folder.resolve("nginx.conf");
    Files.writeString(file, CONFIGURATION.formatted(workers, servers));
    process =
        new ProcessBuilder(
                List.of(namespace.inside("nginx", "-p", folder.toString(), "-c", file.toString())))
            .redirectErrorStream(true)
            .redirectOutput(folder.resolve("output").toFile())
            .start();
    awaitStart();
  }

  /** Starts a server on the ports 8080 and 8081. */
  static NginxServer origin(NetworkNamespace namespace) throws Exception {
    return new NginxServer(namespace, 1, ORIGIN.formatted("x".repeat(BODY_BYTES)));
  }

  /**
   * Starts a reverse proxy on the port 8080, which passes on what the rule of the agent allows.
   *
   * @param workers as many as the agent's proxy has event loops
   */
  static NginxServer proxy(NetworkNamespace namespace, int workers, String origin)
      throws Exception {
    return new NginxServer(namespace, workers, PROXY.formatted(origin));
  }

  private void awaitStart() throws Exception {
    final long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(LONGEST_START_SEC);
    while (!Files.exists(folder.resolve("nginx.pid"))) {
      if (!process.isAlive() || System.nanoTime() > end) {
        throw new IllegalStateException(
            "nginx (package nginx): " + Files.readString(folder.resolve("output")));
      }
      Thread.sleep(10);
    }
  }

  @Override
  public void close() throws IOException {
    process.destroy();
    process.onExit().join();
    try (Stream<Path> files = Files.walk(folder)) {
      for (final Path path : files.sorted(Comparator.reverseOrder()).toList()) {
        Files.delete(path);
      }
    }
  }
}
