package agent.datapath.programs.compile;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.types.Leftover;
import java.io.IOException;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class LibraryLeftoversTest {
  private static final String OBJECT = "0123456789abcdef".repeat(4) + ".bpf.o";

  @TempDir private Path state;

  private Path file(String name) throws IOException {
    final Path file = state.resolve(name);
    Files.createDirectories(file.getParent());
    return Files.createFile(file);
  }

  private List<String> found(Path library) {
    return LibraryLeftovers.find(library).stream()
        .map(left -> left.text().replace(library.toString(), "lib"))
        .toList();
  }

  @Test
  void shouldFindTheObjectsBrokenOffBuildsAndSourcesOfTheAgentInTheOrderOfTheirRemoval()
      throws IOException {
    file("lib/objects/" + OBJECT);
    file("lib/objects/build-77/programs/host.bpf.c");
    file("lib/bpf/programs/host.bpf.c");
    file("lib/bpf/clang.flags");
    final Path library = state.resolve("lib");
    assertEquals(
        List.of(
            "file lib/objects/build-77/programs/host.bpf.c",
            "folder lib/objects/build-77/programs",
            "file lib/objects/" + OBJECT,
            "folder lib/objects/build-77",
            "folder lib/objects",
            "file lib/bpf/programs/host.bpf.c",
            "file lib/bpf/clang.flags",
            "folder lib/bpf/programs",
            "folder lib/bpf",
            "folder lib"),
        found(library));
    for (final Leftover left : LibraryLeftovers.find(library)) {
      left.removal().remove();
    }
    assertFalse(Files.exists(library));
    assertEquals(List.of(), found(library));
  }

  @Test
  void shouldKeepTheFilesOfOthers() throws IOException {
    final Path library = state.resolve("lib");
    file("lib/objects/" + OBJECT + ".old");
    file("lib/objects/x" + OBJECT);
    file("lib/objects/build-/left");
    file("lib/objects/build-77x/left");
    file("lib/bpf/programs/own.bpf.c");
    Files.createSymbolicLink(library.resolve("bpf/link"), state);
    assertEquals(
        List.of("folder lib/objects", "folder lib/bpf/programs", "folder lib/bpf", "folder lib"),
        found(library));
    for (final Leftover left : LibraryLeftovers.find(library)) {
      assertThrows(DirectoryNotEmptyException.class, left.removal()::remove);
    }
    assertTrue(Files.exists(library.resolve("bpf/programs/own.bpf.c")));
  }

  @Test
  void shouldFindTheCacheOfAFormerRelease() throws IOException {
    final Path object = file("cache/" + OBJECT);
    file("cache/README");
    assertEquals(
        List.of("file " + object, "folder " + state.resolve("cache")),
        LibraryLeftovers.objects(state.resolve("cache")).stream().map(Leftover::text).toList());
    assertEquals(List.of(), LibraryLeftovers.objects(state.resolve("none")));
  }
}
