package agent.datapath.manager.compile;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.datapath.manager.spec.DatapathContext;
import agent.maps.btf.ElfObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ProgramObjectsTest {
  private static final FeatureSet DEBUG = FeatureSet.of(true);

  @TempDir private Path state;

  @Test
  void shouldReadTheShippedObjectsWithoutACompiler() {
    final ProgramObjects objects = objects(List.of("no-such-clang"), FeatureSet.DEFAULT);
    for (final ProgramFile program : ProgramFile.values()) {
      assertTrue(ElfObject.parse(objects.read(program)).hasSection(".BTF"));
    }
    assertFalse(Files.exists(state.resolve("cache")));
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
        "programs/host.bpf.c: features [AGENT_DEBUG] have to be compiled, and there is no clang"
            + " (tried no-such-clang)",
        failure.getMessage());
  }

  private ProgramObjects objects(List<String> candidates, FeatureSet features) {
    return new ProgramObjects(state.resolve("cache"), candidates, features);
  }

  private List<Path> cached() throws IOException {
    if (!Files.exists(state.resolve("cache"))) {
      return List.of();
    }
    try (Stream<Path> paths = Files.list(state.resolve("cache"))) {
      return paths.sorted().toList();
    }
  }
}
