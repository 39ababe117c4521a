package agent.launcher.process;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;

/** A log daemon of a test: it writes each datagram of its socket to a file, as one line. */
public final class SyslogReceiver implements AutoCloseable {
  private static final String SCRIPT =
      "use Socket; socket(S, AF_UNIX, SOCK_DGRAM, 0) or die; bind(S, sockaddr_un($ARGV[0])) or die;"
          + " $| = 1; while (defined(recv(S, $line, 65536, 0))) { print \"$line\\n\" }";

  private final Process process;
  private final Path lines;

  private SyslogReceiver(Process process, Path lines) {
    this.process = process;
    this.lines = lines;
  }

  /** Starts it on a socket that does not exist yet. */
  public static SyslogReceiver start(Path socket) throws Exception {
    final Path lines = Files.createTempFile("syslog-", ".log");
    final Process process =
        new ProcessBuilder("perl", "-e", SCRIPT, socket.toString())
            .redirectErrorStream(true)
            .redirectOutput(lines.toFile())
            .start();
    final long endNs = System.nanoTime() + TimeUnit.SECONDS.toNanos(10);
    while (!Files.exists(socket)) {
      if (System.nanoTime() > endNs || !process.isAlive()) {
        throw new IllegalStateException("no log daemon: " + Files.readString(lines));
      }
      Thread.sleep(10);
    }
    return new SyslogReceiver(process, lines);
  }

  /** Stops to receive ({@code STOP}), or goes on ({@code CONT}). */
  public void signal(String name) throws Exception {
    final String pid = Long.toString(process.pid());
    new ProcessBuilder("kill", "-" + name, pid).start().waitFor();
  }

  /** Returns all lines until now. */
  public String lines() throws IOException {
    return Files.readString(lines);
  }

  @Override
  public void close() throws IOException {
    process.destroyForcibly().onExit().join();
    Files.delete(lines);
  }
}
