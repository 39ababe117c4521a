package agent.datapath.manager.compile;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.datapath.manager.spec.DatapathContext;
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
  private static final FeatureSet DEBUG = FeatureSet.of(true);

  @TempDir private Path state;

  @Test
  void shouldDefineWhatTheOptionsAskFor() {
    assertEquals(List.of("-DAGENT_DEBUG"), FeatureSet.of(true).flags());
    assertEquals(FeatureSet.DEFAULT, FeatureSet.of(false));
    assertEquals("conntrack_gc", ProgramFile.CONNTRACK_GC.stem());
  }

  @Test
  void shouldReadTheShippedObjectsWithoutACompiler() {
    final ProgramObjects objects = objects(List.of("no-such-clang"), FeatureSet.DEFAULT);
    for (final ProgramFile program : ProgramFile.values()) {
      assertTrue(ElfObject.parse(objects.read(program)).hasSection(".BTF"));
    }
    assertFalse(Files.exists(state.resolve("objects")));
  }

  @Test
  void shouldCompileAnotherFeatureSetOnceAndThenReadItFromTheCache() throws IOException {
    final byte[] made =
        objects(new DatapathContext().clangCandidates(), DEBUG).read(ProgramFile.ENDPOINT);
    assertTrue(ElfObject.parse(made).hasSection(".BTF"));
    final List<Path> cached = cached();
    assertEquals(1, cached.size());
    final byte[] marked = {1, 2, 3};
    Files.write(cached.getFirst(), marked);
    assertArrayEquals(
        marked, objects(new DatapathContext().clangCandidates(), DEBUG).read(ProgramFile.ENDPOINT));
    assertEquals(cached, cached());
  }

  @Test
  void shouldCacheEachFeatureSetSeparately() throws IOException {
    final FeatureSet other = new FeatureSet(List.of("AGENT_DEBUG", "AGENT_OTHER"));
    objects(new DatapathContext().clangCandidates(), DEBUG).read(ProgramFile.CONNTRACK_GC);
    objects(new DatapathContext().clangCandidates(), other).read(ProgramFile.CONNTRACK_GC);
    assertEquals(2, cached().size());
  }

  @Test
  void shouldReportCompilerErrorsAndCacheNoObject() throws IOException {
    final FeatureSet broken = new FeatureSet(List.of("prefilter=}"));
    final ProgramObjects objects = objects(new DatapathContext().clangCandidates(), broken);
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
            () -> objects(List.of("no-such-clang"), DEBUG).read(ProgramFile.HOST));
    assertEquals(
        "programs/host.bpf.c: features [AGENT_DEBUG] have to be compiled, and there is no clang 19"
            + " or newer, whose programs kernels take (tried no-such-clang)",
        failure.getMessage());
  }

  @Test
  void shouldWriteTheShippedSourcesOnceAndUseThemAsLongAsTheyAreTheSame() throws IOException {
    final byte[] shipped =
        objects(List.of("no-such-clang"), FeatureSet.DEFAULT).read(ProgramFile.CONNTRACK_GC);
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
    assertTrue(failure.getMessage().contains("changed sources have to be"), failure.getMessage());
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
    objects(first, DEBUG).read(ProgramFile.HOST);
    objects(first, DEBUG).read(ProgramFile.HOST);
    assertEquals(1, cached().size());
    objects(second, DEBUG).read(ProgramFile.HOST);
    assertEquals(2, cached().size(), "another version");
    objects(first, new FeatureSet(List.of("AGENT_OTHER"))).read(ProgramFile.HOST);
    assertEquals(3, cached().size(), "another feature set");
    kept(List.of()).read(ProgramFile.HOST);
    final Path source = state.resolve("bpf/programs/host.bpf.c");
    for (final String change : List.of("/* one */", "/* two */")) {
      Files.writeString(source, change);
      kept(first).read(ProgramFile.HOST);
    }
    assertEquals(5, cached().size(), "other sources");
    Files.writeString(state.resolve("bpf/clang.flags"), "# none\n\n -O1 \n");
    final byte[] made = kept(first).read(ProgramFile.HOST);
    assertEquals(6, cached().size(), "other flags");
    assertTrue(new String(made, StandardCharsets.UTF_8).startsWith("-O1 -I include"));
  }

  /** The end of the flags is no start of the version. */
  @Test
  void shouldTellFlagsFromTheVersionOfTheCompiler() throws IOException {
    objects(List.of(compiler("first", "Bclang")), new FeatureSet(List.of("A")))
        .read(ProgramFile.HOST);
    objects(List.of(compiler("second", "clang")), new FeatureSet(List.of("AB")))
        .read(ProgramFile.HOST);
    assertEquals(2, cached().size());
  }

  @Test
  void shouldFindACompilerThatIsInstalledLater() throws IOException {
    final ProgramObjects objects = objects(List.of(state.resolve("late").toString()), DEBUG);
    assertThrows(CompileException.class, () -> objects.read(ProgramFile.HOST));
    compiler("late", "version 1");
    assertTrue(objects.read(ProgramFile.HOST).length > 0);
  }

  private ProgramObjects kept(List<String> candidates) {
    return new ProgramObjects(state, true, candidates, FeatureSet.DEFAULT);
  }

  private ProgramObjects objects(List<String> candidates, FeatureSet features) {
    return new ProgramObjects(state, false, candidates, features);
  }

  private List<Path> cached() throws IOException {
    if (!Files.exists(state.resolve("objects"))) {
      return List.of();
    }
    try (Stream<Path> paths = Files.list(state.resolve("objects"))) {
      return paths.sorted().toList();
    }
  }
}
