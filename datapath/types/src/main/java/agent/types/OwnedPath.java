package agent.types;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;

/**
 * The checks of a directory that an option names before it is used: neither it nor a directory on
 * its path may belong to another user or be writable for others, because who can replace its files
 * decides what the agent does. A directory on the path may be writable where it has the sticky bit,
 * as {@code /tmp} has it.
 */
public final class OwnedPath {
  private static final Path IDENTITY_MAP = Path.of("/proc/self/uid_map");
  private static final String ALL_USERS = "4294967295";
  private static final int ROOT = 0;
  private static final int UNMAPPED_USER = 65534;
  private static final int STICKY = 01000;
  private static final int WRITABLE_FOR_OTHERS = 0022;
  private static final int PERMISSIONS = 07777;

  private final String option;
  private final Path directory;
  private final int user;
  private final boolean hasUnmappedUsers;

  private OwnedPath(String option, Path directory) throws IOException {
    this.option = option;
    this.directory = directory;
    user = (Integer) Files.getAttribute(Path.of("/proc/self"), "unix:uid");
    hasUnmappedUsers = hasUnmappedUsers(Files.readString(IDENTITY_MAP));
  }

  /** Returns whether a map of user numbers (user_namespaces(7)) leaves some of them out. */
  static boolean hasUnmappedUsers(String identityMap) {
    return !identityMap.strip().endsWith(ALL_USERS);
  }

  /**
   * Checks a directory and the path to it; what of them is not there yet is not looked at.
   *
   * @param option the option that names it
   * @throws Refusal INVALID naming the directory that others own or may write to
   * @throws IOException where it cannot be read
   */
  public static void check(String option, Path directory) throws IOException {
    new OwnedPath(option, directory.toAbsolutePath().normalize()).checkPath();
  }

  /**
   * Checks the path as it is written, whose links others must not be able to change, and the path
   * to which the links lead.
   */
  private void checkPath() throws IOException {
    Path existing = directory;
    while (!Files.exists(existing, LinkOption.NOFOLLOW_LINKS)) {
      existing = existing.getParent();
    }
    final Path real;
    try {
      real = existing.toRealPath();
    } catch (IOException e) {
      throw refused(existing, IoFailure.reason(e));
    }
    final boolean isWhole = existing.equals(directory);
    checkEach(existing, isWhole && real.equals(existing));
    if (!real.equals(existing)) {
      checkEach(real, isWhole);
    }
  }

  private void checkEach(Path path, boolean isDirectory) throws IOException {
    check(path.getRoot(), false);
    for (int names = 1; names <= path.getNameCount(); names++) {
      check(
          path.getRoot().resolve(path.subpath(0, names)),
          isDirectory && names == path.getNameCount());
    }
  }

  private void check(Path path, boolean isDirectory) throws IOException {
    final int owner = (Integer) Files.getAttribute(path, "unix:uid", LinkOption.NOFOLLOW_LINKS);
    if (!isTrusted(owner, user, hasUnmappedUsers, isDirectory)) {
      throw refused(path, "owned by uid " + owner);
    }
    if (Files.isSymbolicLink(path)) {
      return; // its mode has no meaning; what it leads to is checked
    }
    final int mode = (Integer) Files.getAttribute(path, "unix:mode", LinkOption.NOFOLLOW_LINKS);
    final boolean isSticky = (mode & STICKY) != 0 && !isDirectory;
    if ((mode & WRITABLE_FOR_OTHERS) != 0 && !isSticky) {
      throw refused(path, "writable by other users (mode 0%o)".formatted(mode & PERMISSIONS));
    }
  }

  /**
   * Returns whether files of an owner are as safe as the agent's own.
   *
   * @param user the user of the agent
   * @param hasUnmappedUsers whether there are users that this user namespace does not know, as the
   *     real root can be
   * @param isDirectory whether it is the directory itself and not one on its path
   */
  static boolean isTrusted(int owner, int user, boolean hasUnmappedUsers, boolean isDirectory) {
    return owner == ROOT
        || owner == user
        || owner == UNMAPPED_USER && hasUnmappedUsers && !isDirectory;
  }

  private Refusal refused(Path path, String why) {
    return Refusal.invalid(
        option, path.equals(directory) ? path + ": " + why : directory + ": " + path + ": " + why);
  }
}
