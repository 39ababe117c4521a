package agent.launcher;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The scripts that start the JVM, with a program in place of the JVM that shows what it gets. */
class LauncherScriptTest {
  /** What the JVM, its launcher and the dynamic linker read. */
  private static final List<String> HARMFUL =
      List.of(
          "JAVA_TOOL_OPTIONS",
          "JDK_JAVA_OPTIONS",
          "_JAVA_OPTIONS",
          "JDK_AOT_VM_OPTIONS",
          "CLASSPATH",
          "LD_PRELOAD",
          "LD_LIBRARY_PATH",
          "LD_AUDIT");

  private static final Path SCRIPTS = Path.of("src/main/scripts");

  @TempDir private Path prefix;

  @BeforeEach
  void install() throws Exception {
    Files.createDirectories(prefix.resolve("bin"));
    Files.createDirectories(prefix.resolve("lib/agent"));
    Files.createDirectories(prefix.resolve("jdk/bin"));
    for (final String script : List.of("agent", "agentctl")) {
      Files.copy(
          SCRIPTS.resolve(script),
          prefix.resolve("bin").resolve(script),
          StandardCopyOption.COPY_ATTRIBUTES);
    }
    executable("lib/agent/find-jdk", "echo " + prefix.resolve("jdk"));
    executable("jdk/bin/java", "env; echo ARGUMENTS=\"$*\"");
  }

  @Test
  void shouldClearTheVariablesOfTheJvmAndTheLinker() throws Exception {
    for (final String script : List.of("agent", "agentctl")) {
      final ProcessBuilder builder =
          new ProcessBuilder(prefix.resolve("bin").resolve(script).toString(), "status");
      HARMFUL.forEach(name -> builder.environment().put(name, "/no/such/file"));
      builder.environment().put("AGENT_MTU", "1400");
      final Outcome outcome = run(builder);
      assertEquals(0, outcome.exitCode, outcome.err);
      final Set<String> names = new TreeSet<>();
      outcome.out.lines().forEach(line -> names.add(line.split("=", 2)[0]));
      final Set<String> left = new TreeSet<>(names);
      left.retainAll(HARMFUL);
      assertEquals(Set.of(), left, script);
      assertTrue(names.contains("AGENT_MTU"), "other variables stay");
      assertTrue(outcome.out.contains(script + ".jar status"), outcome.out);
    }
  }

  /** No load of kernel modules, other users' files or raw memory: capabilities(7). */
  @Test
  void shouldGiveUpTheCapabilitiesThatTheAgentDoesNotUse() throws Exception {
    executable("jdk/bin/java", "grep -E '^(CapBnd|NoNewPrivs)' /proc/self/status");
    final String out = run(new ProcessBuilder(prefix.resolve("bin/agent").toString())).out;
    assertTrue(out.contains("NoNewPrivs:\t1\n"), out);
    final long bounding =
        Long.parseLong(out.replaceAll("(?s).*CapBnd:\\s*([0-9a-f]+).*", "$1"), 16);
    final long used =
        1L << 0 | 1L << 5 | 1L << 6 | 1L << 7 | 1L << 10 | 1L << 12 | 1L << 13 | 1L << 14 | 1L << 19
            | 1L << 21 | 1L << 23 | 1L << 24 | 1L << 38 | 1L << 39;
    assertEquals(0, bounding & ~used, Long.toHexString(bounding));
    assertTrue((bounding & 1L << 12) != 0 && (bounding & 1L << 39) != 0, "net_admin and bpf");
  }

  @Test
  void shouldFindNativeFilesWhereTheyAreInstalled() throws Exception {
    final String out = run(new ProcessBuilder(prefix.resolve("bin/agent").toString())).out;
    assertTrue(out.contains(" -Djava.library.path=" + prefix.resolve("lib/agent") + " "), out);
    assertTrue(out.contains(" -Dagent.proxies=" + prefix.resolve("lib/agent/proxies") + " "), out);
  }

  /** They need the class path of the daemon; the others start on a shorter one. */
  @Test
  void shouldStartCommandsThatNeedNoAgentWithTheAgentsParts() throws Exception {
    final String agentctl = prefix.resolve("bin/agentctl").toString();
    for (final String line :
        List.of("bpf list", "-o json bpf get x", "policy validate -", "bugtool")) {
      final String out = run(new ProcessBuilder("sh", "-c", agentctl + " " + line)).out;
      assertTrue(out.endsWith("/agent.jar agent.launcher.local.LocalAgentCtl " + line + "\n"), out);
      assertTrue(out.contains("/agentctl-local.aot"), out);
    }
    final String out = run(new ProcessBuilder(agentctl, "endpoint", "list")).out;
    assertTrue(
        out.endsWith("-jar " + prefix.resolve("lib/agent/agentctl.jar") + " endpoint list\n"), out);
  }

  @Test
  void shouldSayWhetherTheOutputIsATerminalAndHowWide() throws Exception {
    final String agentctl = prefix.resolve("bin/agentctl").toString();
    final ProcessBuilder piped = new ProcessBuilder(agentctl, "status");
    piped.environment().put("AGENTCTL_COLUMNS", "50");
    piped.environment().put("AGENTCTL_PROGRESS", "yes");
    final String none = run(piped).out;
    assertTrue(none.lines().anyMatch("AGENTCTL_COLUMNS="::equals), none);
    assertTrue(none.lines().anyMatch("AGENTCTL_PROGRESS="::equals), none);
    final String terminal =
        run(new ProcessBuilder(
                "script", "-qec", "stty cols 97; exec " + agentctl + " status", "/dev/null"))
            .out;
    assertTrue(terminal.contains("AGENTCTL_COLUMNS=97\r\n"), terminal);
    assertTrue(terminal.contains("AGENTCTL_PROGRESS=yes\r\n"), terminal);
  }

  @Test
  void shouldSayThatTheJvmCannotStartWithSoFewDescriptors() throws Exception {
    final String agent = prefix.resolve("bin/agent").toString();
    final Outcome few = run(new ProcessBuilder("sh", "-c", "ulimit -n 32; exec " + agent));
    assertEquals(1, few.exitCode, few.out);
    assertEquals(
        "agent: the limit of open files is 32, but the agent needs 384 (ulimit -n, LimitNOFILE=)\n",
        few.err);
    final Outcome raised = run(new ProcessBuilder("sh", "-c", "ulimit -S -n 32; exec " + agent));
    assertEquals(0, raised.exitCode, raised.err);
  }

  @Test
  void shouldInstallAndRemoveTheDocumentOfTheApi() throws Exception {
    final Path built = Files.createDirectories(prefix.resolve("tree/launcher/target/lib"));
    Files.writeString(built.resolveSibling("agent.jar"), "");
    Files.writeString(built.resolve("cli-1.jar"), "");
    Files.writeString(built.resolve("libx.so"), "native");
    final Path scripts = Files.createDirectories(prefix.resolve("tree/launcher/src/main/scripts"));
    try (Stream<Path> files = Files.list(SCRIPTS)) {
      for (final Path script : files.toList()) {
        Files.copy(
            script, scripts.resolve(script.getFileName()), StandardCopyOption.COPY_ATTRIBUTES);
      }
    }
    executable("tree/launcher/src/main/scripts/find-jdk", "echo " + prefix.resolve("jdk"));
    final Path classes = Files.createDirectories(prefix.resolve("tree/contract/target/classes"));
    Files.writeString(classes.resolve("openapi.yaml"), "openapi: 3.1.0\n");
    final String install = scripts.resolve("install").toString();
    final Path target = prefix.resolve("usr");
    final Outcome installed =
        run(new ProcessBuilder(install, "--without-cache", target.toString()));
    assertEquals(0, installed.exitCode, installed.err);
    assertEquals("openapi: 3.1.0\n", Files.readString(target.resolve("share/agent/openapi.yaml")));
    assertEquals("native", Files.readString(target.resolve("lib/agent/libx.so")));
    assertEquals(0, run(new ProcessBuilder(install, "--remove", target.toString())).exitCode);
    assertFalse(Files.exists(target), "what was installed is removed");
  }

  private record Outcome(int exitCode, String out, String err) {}

  private static Outcome run(ProcessBuilder builder) throws Exception {
    final Process process = builder.start();
    process.getOutputStream().close();
    final String out = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    final String err = new String(process.getErrorStream().readAllBytes(), StandardCharsets.UTF_8);
    assertTrue(process.waitFor(60, TimeUnit.SECONDS));
    return new Outcome(process.exitValue(), out, err);
  }

  private void executable(String name, String command) throws Exception {
    final Path file = prefix.resolve(name);
    Files.writeString(file, "#!/bin/sh\n" + command + "\n");
    Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rwxr-xr-x"));
  }
}
