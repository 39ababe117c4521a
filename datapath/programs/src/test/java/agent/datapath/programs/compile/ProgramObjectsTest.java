package agent.datapath.programs.compile;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.datapath.spec.DatapathContext;
import agent.maps.btf.ElfObject;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ProgramObjectsTest {
  @TempDir private Path state;

  @Test
  void shouldReadTheShippedObjectsWithoutACompiler() {
    final ProgramObjects objects = objects(List.of("no-such-clang"), false);
    for (final ProgramFile program : ProgramFile.values()) {
      assertTrue(ElfObject.parse(objects.read(program)).hasSection(".BTF"));
    }
    assertFalse(Files.exists(state.resolve("objects")));
  }

  @Test
  void shouldCompileOnceAndThenReadTheObjectFromTheCache() throws IOException {
    final byte[] made =
        objects(new DatapathContext().clangCandidates(), true).read(ProgramFile.ENDPOINT);
    assertTrue(ElfObject.parse(made).hasSection(".BTF"));
    final List<Path> cached = cached();
    assertEquals(1, cached.size());
    final byte[] marked = {1, 2, 3};
    Files.write(cached.getFirst(), marked);
    assertArrayEquals(
        marked, objects(new DatapathContext().clangCandidates(), true).read(ProgramFile.ENDPOINT));
    assertEquals(cached, cached());
  }

  /** What an operator reads to see why an object is as it is, or why a kernel refuses it. */
  @Test
  void shouldKeepThePreprocessedSourceAndTheAssemblyWhereTheCompilationIsDebugged()
      throws IOException {
    final List<String> clang = new DatapathContext().clangCandidates();
    objects(clang, true).read(ProgramFile.CONNTRACK_GC);
    final String stem = cached().getFirst().toString().replace(".bpf.o", "");
    final Path preprocessed = Path.of(stem + ".bpf.i");
    assertTrue(Files.readString(preprocessed).contains("conntrack_sweep"));
    assertTrue(Files.readString(Path.of(stem + ".bpf.s")).contains("conntrack_sweep:"));
    assertEquals(4, LibraryLeftovers.objects(state.resolve("objects")).size(), "and the folder");
    Files.delete(preprocessed);
    objects(clang, true).read(ProgramFile.CONNTRACK_GC);
    assertTrue(Files.exists(preprocessed), "compiled again");
  }

  @Test
  void shouldReportCompilerErrorsAndCacheNoObject() throws IOException {
    kept(List.of()).read(ProgramFile.PREFILTER);
    Files.writeString(state.resolve("bpf/programs/prefilter.bpf.c"), "}");
    final ProgramObjects objects = kept(new DatapathContext().clangCandidates());
    final CompileException failure =
        assertThrows(CompileException.class, () -> objects.read(ProgramFile.PREFILTER));
    assertTrue(failure.getMessage().startsWith("programs/prefilter.bpf.c"), failure.getMessage());
    assertTrue(failure.getMessage().contains("error:"), failure.getMessage());
    assertEquals(List.of(), cached());
  }

  @Test
  void shouldReportAMissingCompiler() {
    final CompileException failure =
        assertThrows(
            CompileException.class,
            () -> objects(List.of("no-such-clang"), true).read(ProgramFile.HOST));
    assertEquals(
        "programs/host.bpf.c: all sources (--bpf-compile-debug) must be compiled, but clang 19 or"
            + " newer was not found (tried no-such-clang)",
        failure.getMessage());
  }

  @Test
  void shouldWriteTheShippedSourcesOnceAndUseThemAsLongAsTheyAreTheSame() throws IOException {
    final byte[] shipped = objects(List.of("no-such-clang"), false).read(ProgramFile.CONNTRACK_GC);
    assertArrayEquals(shipped, kept(List.of("no-such-clang")).read(ProgramFile.CONNTRACK_GC));
    assertTrue(Files.exists(state.resolve("bpf/programs/conntrack_gc.bpf.c")));
    assertTrue(Files.exists(state.resolve("bpf/include/maps/policy_map.h")));
    assertEquals(List.of(), cached());
  }

  @Test
  void shouldCompileTheKeptSourcesWhereTheyWereChanged() throws IOException {
    kept(List.of()).read(ProgramFile.CONNTRACK_GC);
    final Path source = state.resolve("bpf/programs/conntrack_gc.bpf.c");
    final String changed = Files.readString(source) + "\nconst char operators_own[] = \"x\";\n";
    Files.writeString(source, changed);
    final List<String> clang = new DatapathContext().clangCandidates();
    final byte[] made = kept(clang).read(ProgramFile.CONNTRACK_GC);
    assertEquals(1, cached().size());
    assertTrue(new String(made, StandardCharsets.ISO_8859_1).contains("operators_own"));
    assertEquals(changed, Files.readString(source), "kept");
    final CompileException failure =
        assertThrows(
            CompileException.class,
            () -> kept(List.of("no-such-clang")).read(ProgramFile.CONNTRACK_GC));
    assertTrue(
        failure.getMessage().contains("changed sources must be compiled"), failure.getMessage());
    Files.delete(source);
    assertThrows(CompileException.class, () -> kept(clang).read(ProgramFile.CONNTRACK_GC));
  }

  /** A script in place of a compiler, which shows a version and copies its flags to the object. */
  private String compiler(String name, String version) throws IOException {
    final Path script = state.resolve(name);
    Files.writeString(
        script,
        """
        #!/bin/sh
        if [ "$1" = --version ]; then echo '%s'; exit; fi
        flags="$*"
        while [ $# -gt 1 ]; do shift; done
        echo "$flags" > "$1"
        """
            .formatted(version));
    Files.setPosixFilePermissions(script, PosixFilePermissions.fromString("rwx------"));
    return script.toString();
  }

  @Test
  void shouldCompileAgainWhereCompilerFlagsOrSourcesAreOthers() throws IOException {
    final List<String> first = List.of(compiler("first", "version 1"));
    final List<String> second = List.of(compiler("second", "version 2"));
    objects(first, true).read(ProgramFile.HOST);
    objects(first, true).read(ProgramFile.HOST);
    assertEquals(1, cached().size());
    objects(second, true).read(ProgramFile.HOST);
    assertEquals(2, cached().size(), "another version");
    kept(List.of()).read(ProgramFile.HOST);
    final Path source = state.resolve("bpf/programs/host.bpf.c");
    for (final String change : List.of("/* one */", "/* two */")) {
      Files.writeString(source, change);
      kept(first).read(ProgramFile.HOST);
    }
    assertEquals(4, cached().size(), "other sources");
    Files.writeString(state.resolve("bpf/clang.flags"), "# none\n\n -O1 \n");
    final byte[] made = kept(first).read(ProgramFile.HOST);
    assertEquals(5, cached().size(), "other flags");
    assertTrue(new String(made, StandardCharsets.UTF_8).startsWith("-O1 -I include"));
  }

  /** The end of the flags is no start of the version. */
  @Test
  void shouldTellFlagsFromTheVersionOfTheCompiler() throws IOException {
    kept(List.of()).read(ProgramFile.HOST);
    final Path flags = state.resolve("bpf/clang.flags");
    Files.writeString(flags, "-A\n");
    kept(List.of(compiler("first", "Bclang"))).read(ProgramFile.HOST);
    Files.writeString(flags, "-AB\n");
    kept(List.of(compiler("second", "clang"))).read(ProgramFile.HOST);
    assertEquals(2, cached().size());
  }

  @Test
  void shouldFindACompilerThatIsInstalledLater() throws IOException {
    final ProgramObjects objects = objects(List.of(state.resolve("late").toString()), true);
    assertThrows(CompileException.class, () -> objects.read(ProgramFile.HOST));
    compiler("late", "version 1");
    assertTrue(objects.read(ProgramFile.HOST).length > 0);
  }

  private ProgramObjects kept(List<String> candidates) {
    return new ProgramObjects(state, true, candidates, false);
  }

  private ProgramObjects objects(List<String> candidates, boolean isDebugging) {
    return new ProgramObjects(state, false, candidates, isDebugging);
  }

  private List<Path> cached() throws IOException {
    if (!Files.exists(state.resolve("objects"))) {
      return List.of();
    }
    try (Stream<Path> paths = Files.list(state.resolve("objects"))) {
      return paths.filter(path -> path.toString().endsWith(".o")).sorted().toList();
    }
  }
}
