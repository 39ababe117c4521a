package agent.cli.grammar;

import java.util.Collection;
import java.util.Locale;

/** The known word that a mistyped one is meant to be. */
public final class Suggestion {
  private Suggestion() {}

  /** Returns {@code : did you mean 'x'?}, or an empty text where no word is near. */
  public static String of(String word, Collection<String> known) {
    final String nearest = nearest(word, known);
    return nearest.isEmpty() ? "" : ": did you mean '" + nearest + "'?";
  }

  /** Returns the known word that is nearest to a word, or an empty text where none is near. */
  public static String nearest(String word, Collection<String> known) {
    String nearest = "";
    int least = Math.max(1, word.length() / 3) + 1;
    for (final String candidate : known) {
      final int distance = distance(simple(word), simple(candidate));
      if (distance < least && distance < candidate.length()) {
        least = distance;
        nearest = candidate;
      } else if (nearest.isEmpty()
          && word.length() > 2
          && simple(candidate).startsWith(simple(word))) {
        nearest = candidate;
      }
    }
    return nearest;
  }

  private static String simple(String word) {
    return word.toLowerCase(Locale.ROOT);
  }

  /** The number of letters to insert, delete, replace or swap with their neighbour. */
  private static int distance(String from, String to) {
    final int[][] cost = new int[from.length() + 1][to.length() + 1];
    for (int i = 0; i <= from.length(); i++) {
      for (int j = 0; j <= to.length(); j++) {
        cost[i][j] = i == 0 || j == 0 ? i + j : cheapest(cost, from, to, i, j);
      }
    }
    return cost[from.length()][to.length()];
  }

  private static int cheapest(int[][] cost, String from, String to, int i, int j) {
    final boolean isEqual = from.charAt(i - 1) == to.charAt(j - 1);
    int least = cost[i - 1][j - 1] + (isEqual ? 0 : 1);
    least = Math.min(least, Math.min(cost[i - 1][j], cost[i][j - 1]) + 1);
    final boolean isSwapped =
        i > 1
            && j > 1
            && from.charAt(i - 1) == to.charAt(j - 2)
            && from.charAt(i - 2) == to.charAt(j - 1);
    return isSwapped ? Math.min(least, cost[i - 2][j - 2] + 1) : least;
  }
}
