package agent.types;

import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiConsumer;
import java.util.function.Function;

/**
 * Texts of objects that do not change. Lists of them that follow each other mostly have the same
 * ones: a short text is kept until a list with others follows that does not have its object.
 * Thread-safe.
 *
 * @param <T> the type of the objects, which are compared by identity
 */
public final class KeptTexts<T> {
  /** A longer text is not kept. */
  public static final int LONGEST = 4096;

  /** The characters of all texts that are kept. */
  private static final int MOST = 1 << 20;

  private final Function<T, String> write;
  private volatile Map<T, String> kept = Map.of();

  /**
   * Creates one without texts.
   *
   * @param write returns the text of an object, or null for one that is better written in pieces
   */
  public KeptTexts(Function<T, String> write) {
    this.write = write;
  }

  /**
   * Passes on the objects of a list in order, each with its text or null.
   *
   * @param list the objects
   * @param target takes them
   */
  public void forEach(List<T> list, BiConsumer<T, String> target) {
    final Map<T, String> before = kept;
    final String[] texts = new String[list.size()];
    int room = MOST;
    int number = 0;
    boolean isNew = list.isEmpty();
    for (final T one : list) {
      String text = before.get(one);
      if (text == null) {
        text = write.apply(one);
        isNew = true;
      }
      target.accept(one, text);
      if (text != null && text.length() <= Math.min(room, LONGEST)) {
        room -= text.length();
        texts[number] = text;
      }
      number++;
    }
    if (isNew) {
      kept = keep(list, texts);
    }
  }

  private static <T> Map<T, String> keep(List<T> list, String[] texts) {
    final Map<T, String> now = new IdentityHashMap<>(texts.length);
    int number = 0;
    for (final T one : list) {
      if (texts[number] != null) {
        now.put(one, texts[number]);
      }
      number++;
    }
    return now;
  }
}
