package agent.datapath.programs.compile;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** How a compiler is found and started; scripts stand for it. */
class ClangTest {
  @TempDir private Path folder;

  private String script(String name, String... lines) throws IOException {
    final Path script = folder.resolve(name);
    Files.writeString(script, "#!/bin/sh\n" + String.join("\n", lines) + "\n");
    Files.setPosixFilePermissions(script, PosixFilePermissions.fromString("rwx------"));
    return script.toString();
  }

  @Test
  void shouldTakeTheFirstCandidateThatRuns() throws IOException {
    final String broken = script("broken", "echo clang version 1", "exit 1");
    final String silent = script("silent");
    final String old = script("old", "echo Debian clang version 18.9.9");
    final String first = script("first", "echo clang version 19.1", "echo Target: x86_64");
    assertEquals(
        Optional.of(new Clang(first, "clang version 19.1")),
        Clang.find(List.of("no-such-clang", broken, old, first, silent)));
    assertEquals(Optional.empty(), Clang.find(List.of(old)));
    assertEquals(Optional.of(new Clang(silent, "")), Clang.find(List.of(silent, first)));
    assertEquals(Optional.empty(), Clang.find(List.of("no-such-clang", broken)));
    assertEquals(Optional.empty(), Clang.find(List.of()));
  }

  @Test
  void shouldAskForTheVersionAndGiveNoInput() throws IOException {
    final String candidate = script("reader", "cat", "echo \"$@\"");
    assertEquals(Optional.of(new Clang(candidate, "--version")), Clang.find(List.of(candidate)));
  }

  @Test
  void shouldCompileInTheSourceFolderWithTheFlagsAndTheHeaders() throws IOException {
    final Path sources = Files.createDirectory(folder.resolve("sources"));
    final Path object = folder.resolve("host.bpf.o");
    final String compiler = script("compiler", "pwd > " + object, "echo \"$@\" >> " + object);
    new Clang(compiler, "").compile(sources, "programs/host.bpf.c", List.of("-O2", "-g"), object);
    final List<String> lines = Files.readAllLines(object);
    assertEquals(sources.toRealPath().toString(), lines.getFirst());
    final String line = lines.getLast();
    assertTrue(line.startsWith("-O2 -g -I include "), line);
    assertTrue(line.endsWith(" -c programs/host.bpf.c -o " + object), line);
    for (final String triple : List.of("x86_64-linux-gnu", "aarch64-linux-gnu")) {
      final Path headers = Path.of("/usr/include", triple);
      assertEquals(Files.isDirectory(headers), line.contains("-idirafter " + headers), line);
    }
  }

  @Test
  void shouldReportTheStatusAndTheFirstLinesOfACompilerThatFails() throws IOException {
    final String compiler = script("failing", "seq 1 30", "echo last >&2", "exit 3");
    final CompileException failure =
        assertThrows(
            CompileException.class,
            () -> new Clang(compiler, "").compile(folder, "a.c", List.of(), folder.resolve("o")));
    final StringBuilder expected = new StringBuilder("a.c: " + compiler + " exited with status 3:");
    for (int i = 1; i <= 20; i++) {
      expected.append('\n').append(i);
    }
    assertEquals(expected.toString(), failure.getMessage());
  }

  @Test
  void shouldReportACompilerThatIsGone() {
    final CompileException failure =
        assertThrows(
            CompileException.class,
            () -> new Clang("gone", "").compile(folder, "a.c", List.of(), folder.resolve("o")));
    assertEquals("a.c: gone cannot be started", failure.getMessage());
    assertFalse(Files.exists(folder.resolve("o")));
  }
}
