package agent.domain.proxy;

import agent.bindings.BindingsException;
import agent.bindings.process.PipeWriter;
import agent.bindings.process.ProcessAttributes;
import java.io.File;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/** Starts the program of this process once more, for the proxies. */
final class ProcessCommand {
  private static final Logger LOGGER = LogManager.getLogger(ProcessCommand.class);

  /**
   * Names the files of the JVM of this process: what its flags are beside the agent's is in that
   * name with {@code .jvm}, its AOT cache, if there is one, in that with {@code .aot}.
   */
  private static final String FILES = "agent.proxies";

  private static final String CACHE = "-XX:AOTCache=";

  /** Flags for one JVM alone: what it writes or listens on. */
  private static final List<String> OWN =
      List.of(
          "-XX:AOTCacheOutput",
          "-XX:AOTMode",
          "-XX:AOTConfiguration",
          "-agentlib:",
          "-agentpath:",
          "-javaagent:",
          "-Dcom.sun.management.");

  /** The variables that a JVM or the search of programs needs; others may hold secrets. */
  private static final List<String> VARIABLES = List.of("PATH", "MALLOC_ARENA_MAX");

  private ProcessCommand() {}

  /**
   * Starts it. What the calling thread starts may gain no rights then, in whatever thread of its
   * own that is.
   *
   * @param main the class that an agent begins with where it was not started by an archive
   * @throws IOException where that is not possible
   */
  static ProxyChild.Started start(String main) throws IOException {
    final ProcessBuilder builder =
        new ProcessBuilder(command(main)).directory(Path.of("/").toFile());
    builder.environment().keySet().retainAll(VARIABLES);
    ProcessAttributes.passOnNoRights();
    final Process process = builder.start();
    return new ProxyChild.Started(process, input(process.pid()));
  }

  private static PipeWriter input(long pid) {
    try {
      return PipeWriter.open(Path.of("/proc", Long.toString(pid), "fd", "0"));
    } catch (BindingsException e) {
      LOGGER.debug("frames to the proxy process are written by a thread alone: {}", e.getMessage());
      return null;
    }
  }

  private static List<String> command(String main) {
    final String classPath = System.getProperty("java.class.path");
    final List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
    ManagementFactory.getRuntimeMXBean().getInputArguments().stream()
        .filter(flag -> OWN.stream().noneMatch(flag::startsWith))
        .forEach(command::add);
    command.addAll(ownFlags(System.getProperty(FILES)));
    command.add("-XX:+DisplayVMOutputToStderr");
    if (classPath.endsWith(".jar") && !classPath.contains(File.pathSeparator)) {
      command.addAll(List.of("-jar", Path.of(classPath).toAbsolutePath().toString()));
    } else {
      command.addAll(List.of("-cp", absolute(classPath), main));
    }
    command.add(ProxyProcess.NAME);
    return command;
  }

  /**
   * Returns the flags that differ from the agent's, which go before them; of two the last counts.
   */
  static List<String> ownFlags(String files) {
    if (files == null) {
      return List.of();
    }
    final Path cache = Path.of(files + ".aot");
    return Files.exists(cache)
        ? List.of("@" + files + ".jvm", CACHE + cache)
        : List.of("@" + files + ".jvm");
  }

  private static String absolute(String classPath) {
    return String.join(
        File.pathSeparator,
        Stream.of(classPath.split(File.pathSeparator))
            .map(entry -> Path.of(entry).toAbsolutePath().toString())
            .toList());
  }
}
