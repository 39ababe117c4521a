package agent.launcher.process;

import static java.nio.file.StandardOpenOption.CREATE;
import static java.nio.file.StandardOpenOption.WRITE;

import agent.testkit.TestControlGroup;
import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.spi.ToolProvider;
import java.util.stream.Stream;

/**
 * What the processes under test run: the class path of this JVM, its folders packed into archives,
 * with an AOT cache of it. The daemon that is installed has one, too; it halves the start. It is
 * created by a training run where the class path has changed since the last one.
 */
final class AgentImage {
  private static final Path FOLDER = Path.of("target", "agent-under-test").toAbsolutePath();
  private static final Path CACHE = FOLDER.resolve("agent.aot");
  private static final Path STAMP = FOLDER.resolve("stamp");

  private static final List<String> ASKED =
      List.of("/healthz", "/health", "/config", "/endpoint", "/policy", "/identity", "/metrics/");
  private static final String RULES =
      """
      [{"endpointSelector": {"matchLabels": {"app": "trained"}},
        "ingress": [{"fromEndpoints": [{"matchLabels": {"app": "client"}}],
                     "toPorts": [{"ports": [{"port": "80", "protocol": "TCP"}]}]}]}]
      """;
  private static final String SERVICE =
      """
      {"frontend-address": {"ip": "10.96.0.1", "port": 80, "protocol": "tcp"},
       "backend-addresses": [{"ip": "%s", "port": 8080}]}
      """;

  /** Flags of the JVM that use the cache with any main class. */
  private static final List<String> FLAGS = create();

  private AgentImage() {}

  /** Creates the image for tests that run later, on a machine where the training takes long. */
  static void main(String[] arguments) {
    System.out.println(String.join(" ", flags()));
  }

  /** Returns the class path with its cache, as flags of a JVM with the serial collector. */
  static List<String> flags() {
    return FLAGS;
  }

  private static List<String> create() {
    try (FileChannel lock = FileChannel.open(lockFile(), CREATE, WRITE);
        FileLock _ = lock.lock()) {
      final String classPath = System.getProperty("java.class.path");
      final String stamp = stamp(classPath);
      final String packed = pack(classPath, isCurrent(stamp));
      if (!isCurrent(stamp)) {
        Files.deleteIfExists(STAMP);
        train(packed);
        Files.writeString(STAMP, stamp);
      }
      return List.of("-XX:AOTCache=" + CACHE, "-Xlog:disable", "-cp", packed);
    } catch (IOException failure) {
      throw new UncheckedIOException(failure);
    } catch (Exception failure) {
      throw new IllegalStateException("training of the agent under test", failure);
    }
  }

  /** JVMs that test at the same time use one image. */
  private static Path lockFile() throws IOException {
    return Files.createDirectories(FOLDER).resolve("lock");
  }

  private static boolean isCurrent(String stamp) throws IOException {
    return Files.exists(CACHE) && Files.exists(STAMP) && Files.readString(STAMP).equals(stamp);
  }

  /** Names all files of the class path with their sizes and times. */
  private static String stamp(String classPath) throws IOException {
    final List<String> files = new ArrayList<>();
    for (final String entry : classPath.split(File.pathSeparator)) {
      try (Stream<Path> below = Files.walk(Path.of(entry))) {
        for (final Path file : below.filter(Files::isRegularFile).sorted().toList()) {
          files.add(file + " " + Files.size(file) + " " + Files.getLastModifiedTime(file));
        }
      }
    }
    return Runtime.version() + "\n" + String.join("\n", files);
  }

  /** The cache is for archives alone. */
  private static String pack(String classPath, boolean isPacked) throws IOException {
    final ToolProvider jar = ToolProvider.findFirst("jar").orElseThrow();
    final List<String> entries = new ArrayList<>();
    for (final String entry : classPath.split(File.pathSeparator)) {
      if (!Files.isDirectory(Path.of(entry))) {
        entries.add(entry);
        continue;
      }
      final Path archive = FOLDER.resolve(entries.size() + ".jar");
      entries.add(archive.toString());
      if (!isPacked
          && jar.run(System.out, System.err, "-c", "-f", archive.toString(), "-C", entry, ".")
              != 0) {
        throw new IOException("packing " + entry + " failed");
      }
    }
    return String.join(File.pathSeparator, entries);
  }

  /**
   * Starts the daemon once and has it do what most tests ask for; it writes the cache at its end.
   */
  private static void train(String packed) throws Exception {
    Files.deleteIfExists(CACHE);
    final List<String> flags =
        List.of("-XX:AOTCacheOutput=" + CACHE, "-Xlog:disable", "-cp", packed);
    try (TestControlGroup group = TestControlGroup.create();
        TestNode node = new TestNode();
        AgentProcess agent =
            AgentProcess.start(flags, node, "--cgroup-root", group.path().toString())) {
      agent.ready();
      agent.expect(200, "PUT", "/policy", RULES);
      final TestWorkload workload = node.workload(agent, "trained", "app=trained");
      agent.expect(201, "PUT", "/service/1", SERVICE.formatted(workload.ipv4()));
      for (final String path : ASKED) {
        agent.expect(200, "GET", path, null);
      }
      agent.expect(200, "DELETE", "/service/1", null);
      agent.expect(200, "DELETE", "/endpoint/" + workload.id(), null);
      agent.expect(200, "DELETE", "/policy", null);
      agent.terminate();
    }
    if (!Files.exists(CACHE)) {
      throw new IOException(CACHE + " was not written");
    }
  }
}
