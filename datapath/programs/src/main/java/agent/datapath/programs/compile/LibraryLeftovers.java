package agent.datapath.programs.compile;

import agent.types.Leftover;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Pattern;

/** What agents left in the directory of run-time builds; other files there are not in it. */
public final class LibraryLeftovers {
  private static final Pattern OBJECT = Pattern.compile("[0-9a-f]{64}\\.bpf\\.[ios]");
  private static final Pattern BUILD = Pattern.compile("build-[0-9]+");

  private LibraryLeftovers() {}

  /**
   * Finds compiled objects, broken-off builds and the sources that the agent has written, in the
   * order in which they are to be removed.
   *
   * @param library {@code --lib-dir}
   * @throws agent.types.OperationException where a folder cannot be listed
   */
  public static List<Leftover> find(Path library) {
    final List<Leftover> found = new ArrayList<>(objects(library.resolve("objects")));
    final Path sources = library.resolve("bpf");
    for (final Path path : Leftover.paths(sources)) {
      final String name = sources.relativize(path).toString();
      if (isFolder(path) || SourceTree.SHIPPED.hasFile(name)) {
        found.add(Leftover.of(path));
      }
    }
    if (isFolder(library)) {
      found.add(Leftover.of(library));
    }
    return found;
  }

  /**
   * Finds what is in a cache of compiled objects, and the cache.
   *
   * @throws agent.types.OperationException where it cannot be listed
   */
  public static List<Leftover> objects(Path cache) {
    final List<Leftover> found = new ArrayList<>();
    for (final Path path : Leftover.paths(cache)) {
      final String first = path.equals(cache) ? "" : cache.relativize(path).getName(0).toString();
      if (first.isEmpty() || OBJECT.matcher(first).matches() || BUILD.matcher(first).matches()) {
        found.add(Leftover.of(path));
      }
    }
    return found;
  }

  private static boolean isFolder(Path path) {
    return Files.isDirectory(path, LinkOption.NOFOLLOW_LINKS);
  }
}
