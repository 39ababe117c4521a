package agent.types;

import java.io.IOException;
import java.nio.charset.CharacterCodingException;
import java.nio.file.AccessDeniedException;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.NoSuchFileException;
import java.nio.file.NotDirectoryException;

/** Says in words of the system why an operation on a file failed, without names of Java classes. */
public final class IoFailure {
  private IoFailure() {}

  /**
   * Returns the reason of a failure, without the file that it concerns.
   *
   * @param failure the failure
   * @return such as {@code permission denied}
   */
  public static String reason(IOException failure) {
    return switch (failure) {
      case NoSuchFileException _ -> "it does not exist";
      case AccessDeniedException _ -> "permission denied";
      case NotDirectoryException _ -> "not a directory";
      case FileAlreadyExistsException _ -> "a file is in its place";
      case DirectoryNotEmptyException _ -> "the directory is not empty";
      case FileSystemException system when system.getReason() != null ->
          lowerCase(system.getReason());
      case CharacterCodingException _ -> "it is not UTF-8 text";
      case IOException other when other.getMessage() != null -> lowerCase(other.getMessage());
      default -> "input or output failed";
    };
  }

  private static String lowerCase(String text) {
    return text.isEmpty() ? text : Character.toLowerCase(text.charAt(0)) + text.substring(1);
  }

  /** Returns the file that a failure concerns, where it is known, and the reason. */
  public static String sentence(IOException failure) {
    return failure instanceof FileSystemException system && system.getFile() != null
        ? system.getFile() + ": " + reason(failure)
        : reason(failure);
  }
}
