package agent.cli;

import agent.cli.call.ClientVersion;
import agent.cli.call.Invocation;
import agent.cli.call.LocalParts;
import agent.cli.call.Masking;
import agent.cli.command.BpfCommands;
import agent.cli.event.ObserveCommand;
import agent.cli.output.AnswerPrinter;
import agent.cli.output.JsonTreeWriter;
import agent.cli.output.Tree;
import agent.client.AgentException;
import agent.client.RequestPath;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;
import tools.jackson.core.JacksonException;

/** Writes the archive of {@code agentctl bugtool}; a part that fails leaves the others. */
final class Bugtool {
  /** What is asked of the agent, by the name in the archive. */
  private static final List<String> ANSWERS =
      List.of(
          "healthz",
          "health",
          "config",
          "debuginfo",
          "endpoint",
          "identity",
          "identity/endpoints",
          "policy",
          "policy/selectors",
          "prefilter",
          "service",
          "cluster/nodes",
          "map",
          "metrics/");

  /** What is asked of the node. */
  private static final List<List<String>> COMMANDS =
      List.of(
          List.of("uname", "-a"),
          List.of("ip", "-d", "-s", "link"),
          List.of("ip", "address"),
          List.of("ip", "neighbour"),
          List.of("ip", "rule"),
          List.of("ip", "-6", "rule"),
          List.of("ip", "route", "show", "table", "all"),
          List.of("ip", "-6", "route", "show", "table", "all"),
          List.of("nft", "list", "ruleset"),
          List.of("bpftool", "net"),
          List.of("bpftool", "link"),
          List.of("bpftool", "prog"),
          List.of("bpftool", "map"));

  private static final List<String> FILES =
      List.of("/etc/os-release", "/proc/cmdline", "/proc/meminfo", "/proc/loadavg", "/proc/mounts");

  private static final long COMMAND_SEC = 10;

  private final Invocation call;
  private final long mapEntries;
  private final List<String> errors = new ArrayList<>();
  private ZipOutputStream zip;
  private boolean isAgentThere = true;

  Bugtool(Invocation call, long mapEntries) {
    this.call = call;
    this.mapEntries = mapEntries;
  }

  /** A part of the archive. */
  @FunctionalInterface
  private interface Part {
    void write(PrintStream to) throws IOException;
  }

  /**
   * Writes the archive.
   *
   * @param file must not be there yet
   * @return how many parts failed
   */
  int write(Path file) throws IOException {
    try (OutputStream out = create(file);
        ZipOutputStream archive = new ZipOutputStream(out, StandardCharsets.UTF_8)) {
      zip = archive;
      part("about.txt", to -> to.println("collected " + call.now() + "\n" + ClientVersion.text()));
      for (final String answer : ANSWERS) {
        answer(answer);
      }
      endpoints();
      if (isAgentThere) {
        part("agent/observe.txt", to -> ObserveCommand.writeKept(call, to));
      }
      maps();
      COMMANDS.forEach(this::command);
      for (final String name : FILES) {
        part("node" + name + ".txt", to -> to.print(Masking.mask(Files.readString(Path.of(name)))));
      }
      final int failures = errors.size();
      if (failures > 0) {
        part("errors.txt", to -> errors.forEach(to::println));
      }
      return failures;
    }
  }

  private static OutputStream create(Path file) throws IOException {
    Files.createFile(
        file, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
    return Files.newOutputStream(file, StandardOpenOption.WRITE);
  }

  private void part(String name, Part part) {
    try {
      zip.putNextEntry(new ZipEntry(name));
      final PrintStream to = new PrintStream(zip, false, StandardCharsets.UTF_8);
      part.write(to);
      if (to.checkError()) {
        throw new IOException("cannot be written: is the disk full?");
      }
    } catch (AgentException | JacksonException | IOException e) {
      errors.add(name + ": " + e.getMessage());
    }
  }

  private static String fileName(String path) {
    return path.replaceFirst("/$", "").replace('/', '-');
  }

  /** After the agent was not reached once, it is not asked again. */
  private void answer(String path) {
    answer("agent/" + fileName(path) + ".json", RequestPath.of(path.split("/", -1)));
  }

  private void answer(String name, RequestPath path) {
    if (!isAgentThere) {
      return;
    }
    part(
        name,
        to -> {
          try {
            write(call.get(path), to);
          } catch (IOException e) {
            isAgentThere = false;
            throw e;
          }
        });
  }

  private static void write(InputStream json, PrintStream to) {
    final Masking masked = new Masking(new JsonTreeWriter(to));
    AnswerPrinter.copy(json, masked);
    masked.end();
  }

  private void endpoints() throws IOException {
    for (final Object endpoint : list(RequestPath.of("endpoint"))) {
      final String id = Tree.text(endpoint, "id");
      for (final String part : List.of("config", "healthz", "labels", "log")) {
        answer("agent/endpoint-" + id + "-" + part + ".json", RequestPath.of("endpoint", id, part));
      }
    }
  }

  private List<?> list(RequestPath path, String... member) {
    try {
      return isAgentThere ? Tree.list(call.tree(path), member) : List.of();
    } catch (AgentException | JacksonException | IOException e) {
      errors.add(path + ": " + e.getMessage());
      return List.of();
    }
  }

  /** From the agent, or from their pins where it does not run. */
  private void maps() throws IOException {
    if (mapEntries == 0) {
      return;
    }
    for (final Object map : list(RequestPath.of("map"), "maps")) {
      final String name = Tree.text(map, "name");
      part("maps/" + name + ".txt", to -> entries(name, to));
    }
    if (!isAgentThere && call.local() != LocalParts.NONE) {
      final Path root = Path.of(BpfCommands.DEFAULT_ROOT);
      final List<Map<String, Object>> pinned = new ArrayList<>();
      part("pinned.json", to -> pinned.addAll(pinned(root, to)));
      for (final Map<String, Object> map : pinned) {
        final String name = map.get("name").toString();
        part("pinned/" + name + ".txt", to -> pinnedEntries(root, name, to));
      }
    }
  }

  private List<Map<String, Object>> pinned(Path root, PrintStream to) throws IOException {
    final List<Map<String, Object>> maps = call.local().maps(root);
    final JsonTreeWriter json = new JsonTreeWriter(to);
    json.value(maps);
    json.end();
    return maps;
  }

  private void pinnedEntries(Path root, String name, PrintStream to) throws IOException {
    final long[] left = {mapEntries};
    call.local()
        .read(
            root,
            name,
            (key, value) -> {
              to.println(key + "\t" + value);
              return --left[0] > 0;
            });
  }

  private void entries(String name, PrintStream to) throws IOException {
    final long[] left = {mapEntries};
    AnswerPrinter.elements(
        call.get(RequestPath.of("map", name)),
        "cache",
        entry -> {
          to.println(Tree.text(entry, "key") + "\t" + Tree.text(entry, "value"));
          return --left[0] > 0;
        });
  }

  private void command(List<String> words) {
    part("node/" + String.join("-", words).replace("--", "-") + ".txt", to -> run(words, to));
  }

  private static void run(List<String> words, PrintStream to) throws IOException {
    final Path output = Files.createTempFile("bugtool", ".txt");
    try {
      final Process process =
          new ProcessBuilder(words)
              .redirectErrorStream(true)
              .redirectInput(new java.io.File("/dev/null"))
              .redirectOutput(output.toFile())
              .start();
      final boolean isDone = process.waitFor(COMMAND_SEC, TimeUnit.SECONDS);
      if (!isDone) {
        process.destroyForcibly();
      }
      to.print(Masking.mask(new String(Files.readAllBytes(output), StandardCharsets.UTF_8)));
      if (!isDone || process.exitValue() != 0) {
        throw new IOException(
            isDone
                ? "exit code " + process.exitValue()
                : "not finished within " + COMMAND_SEC + " s");
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException("interrupted", e);
    } finally {
      Files.delete(output);
    }
  }
}
