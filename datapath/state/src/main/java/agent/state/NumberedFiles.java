package agent.state;

import agent.conductor.Faults;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.ToIntFunction;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.Logger;

/**
 * The files of one folder, each with a number that its document has, too: {@code <id>.json}.
 *
 * @param <T> what is in a file
 */
final class NumberedFiles<T> {
  private static final Logger LOGGER = LogManager.getLogger(NumberedFiles.class);

  private final StateFolder<T> folder;
  private final Faults faults;
  private final ToIntFunction<T> numberOf;
  private final int largest;
  private final String noun;
  private final String consequence;

  /**
   * What a folder holds.
   *
   * @param documents those that can be read
   * @param unreadable why others cannot be read, by number
   */
  record Loaded<T>(List<T> documents, Map<Integer, String> unreadable) {}

  /**
   * Creates the files of a folder.
   *
   * @param faults has the fault of each file that cannot be read, until it is removed
   * @param numberOf the number in a document
   * @param largest the largest number of a file
   * @param noun what a document is, for messages
   * @param consequence what a file that cannot be read means, as the rest of a sentence
   */
  NumberedFiles(
      StateFolder<T> folder,
      Faults faults,
      ToIntFunction<T> numberOf,
      int largest,
      String noun,
      String consequence) {
    this.folder = folder;
    this.faults = faults;
    this.numberOf = numberOf;
    this.largest = largest;
    this.noun = noun;
    this.consequence = consequence;
  }

  /** Reads all files; those without a number are not read. */
  Loaded<T> load() {
    final List<T> documents = new ArrayList<>();
    final Map<Integer, String> unreadable = new TreeMap<>();
    for (final String name : folder.names()) {
      final int id = number(name, largest);
      if (id == 0) {
        LOGGER.warn(
            "the name of state file {} is not a number of its {}; ignored",
            folder.path(name),
            noun);
        continue;
      }
      try {
        final T document = folder.read(name).orElse(null);
        if (document != null && numberOf.applyAsInt(document) == id) {
          documents.add(document);
        } else if (document != null) {
          final String found = noun + " " + numberOf.applyAsInt(document);
          unreadable.put(id, invalid(id, "it holds " + found));
        }
      } catch (DamagedStateException e) {
        unreadable.put(id, invalid(id, e.getMessage()));
      }
    }
    return new Loaded<>(documents, unreadable);
  }

  /**
   * Reports documents of which others know and that have no file, where files may have been removed
   * together with their names; returns why they cannot be read, by number.
   *
   * @param others the numbers that others know
   */
  Map<Integer, String> missed(Collection<Integer> others) {
    final Map<Integer, String> missed = new TreeMap<>();
    final Set<Integer> present = Set.copyOf(numbers());
    for (final int id : others) {
      if (id >= 1 && id <= largest && !present.contains(id)) {
        missed.put(id, invalid(id, folder.miss(name(id))));
      }
    }
    if (missed.keySet().stream().allMatch(id -> folder.written().has(name(id)))) {
      folder.written().complete();
    }
    return missed;
  }

  /** Returns whether {@link #missed} is to be asked. */
  boolean isIncomplete() {
    return folder.written().isIncomplete();
  }

  /** Reports that a file cannot be used, and returns the message, which says what can be done. */
  String invalid(int id, String reason) {
    final String message = unreadable(folder.path(name(id)), reason, noun, consequence);
    LOGGER.error("{} {}: {}", noun, id, message);
    faults.failed(subject(id), noun + " " + id + ": " + message);
    return message;
  }

  /** Returns the message about a file that cannot be read. */
  static String unreadable(Path file, String reason, String noun, String consequence) {
    return ("the record in %s cannot be read (%s); the %s %s. Restore the file and start the agent"
            + " again, or delete the %s")
        .formatted(file, reason, noun, consequence, noun);
  }

  /** Returns the numbers of the files. */
  List<Integer> numbers() {
    return folder.names().stream()
        .map(name -> number(name, largest))
        .filter(number -> number != 0)
        .toList();
  }

  void save(T document) {
    folder.write(name(numberOf.applyAsInt(document)), document);
  }

  /**
   * Removes a document.
   *
   * @param whenRemoved runs when the removal is durable
   */
  void remove(int id, Runnable whenRemoved) {
    folder.remove(
        name(id),
        () -> {
          faults.clear(subject(id));
          whenRemoved.run();
        });
  }

  /** Returns whether the last write to the folder failed. */
  boolean isFailing() {
    return folder.isFailing();
  }

  private String subject(int id) {
    return folder.path(name(id)).toString();
  }

  private static String name(int id) {
    return Integer.toString(id);
  }

  /** Returns the number that a file name tells, at least 1; 0 where it is not such a name. */
  static int number(String name) {
    return number(name, Integer.MAX_VALUE);
  }

  private static int number(String name, int largest) {
    try {
      final int number = Integer.parseInt(name);
      return number >= 1 && number <= largest && name.equals(Integer.toString(number)) ? number : 0;
    } catch (NumberFormatException e) {
      return 0;
    }
  }
}
