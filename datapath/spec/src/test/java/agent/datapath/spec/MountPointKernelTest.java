package agent.datapath.spec;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import agent.bindings.bpf.CgroupFileSystem;
import agent.testkit.Commands;
import agent.testkit.KernelTest;
import agent.testkit.TestControlGroup;
import agent.types.Refusal;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.ResourceLock;

/** Where file systems of the kernel are mounted, and what is left of a refusal. */
@KernelTest
@ResourceLock(TestControlGroup.LOCK)
class MountPointKernelTest {
  @TempDir private Path directory;

  private void assertRefused(Path path, String message) throws IOException {
    final List<String> before = everything();
    for (final MountPoint point : MountPoint.values()) {
      for (final boolean isChecked : List.of(true, false)) {
        final Refusal refusal =
            assertThrows(
                Refusal.class,
                () -> {
                  if (isChecked) {
                    point.check("root", path);
                  } else {
                    point.mount("root", path);
                  }
                });
        assertEquals(Refusal.Kind.INVALID, refusal.kind());
        assertTrue(refusal.getMessage().startsWith("root: " + message), refusal.getMessage());
        assertEquals(before, everything());
      }
    }
  }

  /** Returns the files below the folder of the test, and the mounts of the process. */
  private List<String> everything() throws IOException {
    try (Stream<Path> files = Files.walk(directory)) {
      return Stream.concat(
              files.map(Path::toString).sorted(),
              Files.readAllLines(Path.of("/proc/self/mountinfo")).stream()
                  .filter(line -> line.contains(directory.toString())))
          .toList();
    }
  }

  @Test
  void shouldMountNothingOverAFolderThatHasEntries() throws IOException {
    final Path folder = Files.createDirectory(directory.resolve("configuration"));
    Files.writeString(folder.resolve("passwd"), "precious");
    assertRefused(folder, "directory '" + folder + "' is not empty and no ");
    assertEquals("precious", Files.readString(folder.resolve("passwd")));
    final Path link = Files.createSymbolicLink(directory.resolve("link"), folder);
    assertRefused(link, "directory '" + link + "' is not empty and no ");
  }

  @Test
  void shouldMountNothingAtARelativePath() throws IOException {
    assertRefused(Path.of("groups"), "'groups' is not an absolute path");
    assertFalse(Files.exists(Path.of("groups")));
  }

  @Test
  void shouldMountNothingAtOrBelowAFile() throws IOException {
    final Path file = Files.createFile(directory.resolve("file"));
    assertRefused(file, "'" + file + "' is not a directory");
    assertRefused(file.resolve("a/b"), "'" + file + "' is not a directory");
  }

  @Test
  void shouldMountNothingInTheFolderOfAnotherUser() throws IOException {
    final Path folder = Files.createDirectory(directory.resolve("home"));
    Commands.run("chown", "daemon", folder.toString());
    final String why = "owned by uid ";
    assertRefused(folder, folder + ": " + why);
    assertRefused(folder.resolve("a/b"), folder.resolve("a/b") + ": " + folder + ": " + why);
    final Path ours = Files.createDirectory(folder.resolve("ours"));
    assertRefused(ours, ours + ": " + folder + ": " + why);
    assertRefused(ours.resolve("a"), ours.resolve("a") + ": " + folder + ": " + why);
    final Path link = Files.createSymbolicLink(directory.resolve("link"), folder);
    assertRefused(link.resolve("a"), link.resolve("a") + ": " + folder + ": " + why);
  }

  @Test
  void shouldRemoveWhatWasCreatedWhereTheKernelRefuses() throws IOException {
    final Path folder = directory.resolve("x".repeat(200) + "/" + "y".repeat(200));
    Path deep = folder;
    while (deep.toString().length() < 4_200) {
      deep = deep.resolve("z".repeat(200));
    }
    final Path tooLong = deep;
    assertThrows(Exception.class, () -> MountPoint.CGROUP.mount("root", tooLong));
    try (Stream<Path> files = Files.list(directory)) {
      assertEquals(List.of(), files.toList());
    }
  }

  @Test
  void shouldMountOnceInAnEmptyFolderOrANewOne() throws IOException {
    final Path empty = Files.createDirectory(directory.resolve("empty"));
    for (final Path path : List.of(empty, directory.resolve("new/folder"))) {
      assertTrue(MountPoint.CGROUP.mount("root", path));
      try {
        assertTrue(CgroupFileSystem.isMounted(path));
        MountPoint.CGROUP.check("root", path);
        assertFalse(MountPoint.CGROUP.mount("root", path));
      } finally {
        CgroupFileSystem.unmount(path);
      }
    }
  }
}
