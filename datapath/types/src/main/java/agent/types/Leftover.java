package agent.types;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;

/**
 * Something that an agent left on a node, with what removes it.
 *
 * @param text a line for an operator, such as {@code route 10.0.0.7/32 through wl-a}
 * @param removal removes it; that it is gone already is not an error
 */
public record Leftover(String text, Removal removal) {
  /** Removes one thing. */
  @FunctionalInterface
  public interface Removal {
    /**
     * Removes it.
     *
     * @throws IOException where a file cannot be removed; {@link
     *     java.nio.file.DirectoryNotEmptyException} for a folder with files of others, which stays
     * @throws OperationException where the kernel refuses
     */
    void remove() throws IOException;
  }

  /** Returns a file, a link, or a folder that is removed where it is empty. */
  public static Leftover of(Path path) {
    final boolean isFolder = Files.isDirectory(path, LinkOption.NOFOLLOW_LINKS);
    return new Leftover((isFolder ? "folder " : "file ") + path, () -> Files.deleteIfExists(path));
  }

  /**
   * Returns the paths of all that is in a folder, and the folder, the innermost first.
   *
   * @param folder need not exist; links are not followed
   * @return nothing where it does not exist
   * @throws OperationException where it cannot be listed
   */
  public static List<Path> paths(Path folder) {
    try (Stream<Path> inside = Files.walk(folder)) {
      return inside
          .sorted(Comparator.comparing(Path::getNameCount).reversed().thenComparing(path -> path))
          .toList();
    } catch (NoSuchFileException missing) {
      return List.of();
    } catch (IOException failure) {
      throw new OperationException(folder + ": list: " + IoFailure.reason(failure), failure);
    }
  }
}
