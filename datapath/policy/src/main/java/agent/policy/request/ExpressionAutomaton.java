package agent.policy.request;

import agent.policy.request.ExpressionTree.Assertion;
import agent.policy.request.ExpressionTree.Chars;
import agent.policy.request.ExpressionTree.Choice;
import agent.policy.request.ExpressionTree.Node;
import agent.policy.request.ExpressionTree.Repeat;
import agent.policy.request.ExpressionTree.Sequence;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.IntBinaryOperator;
import java.util.function.IntPredicate;

/**
 * A deterministic automaton of an expression for texts of ASCII: one step a character, which
 * allocates nothing. Built once, so that it is immutable; an expression whose automaton would be
 * too large has none. A state is what the characters so far have left possible: steps of the
 * program, and the kind of the last character where conditions ask for it.
 */
final class ExpressionAutomaton {
  /** More than most expressions need, and less heap than re2j's program of the same size. */
  private static final int TRANSITIONS_PER_STATE = 32;

  private static final int FURTHER_TRANSITIONS = 512;

  /** What another automaton says of a character that it does not take. */
  private static final int OUTSIDE = -1;

  /** Steps of the construction for each state of the expression. */
  private static final long EFFORT_PER_STATE = 2_000;

  private static final int DEAD = 0;

  /** The class of each character: those of a class are alike for the expression. */
  private final byte[] classes;

  private final int classCount;

  /** The next state by state and class. */
  private final char[] next;

  private final BitSet accepting;
  private final int start;

  private ExpressionAutomaton(
      byte[] classes, int classCount, char[] next, BitSet accepting, int start) {
    this.classes = classes;
    this.classCount = classCount;
    this.next = next;
    this.accepting = accepting;
    this.start = start;
  }

  /**
   * Builds the automaton of a valid expression.
   *
   * @param states about how many states the expression has
   * @return null: it would be too large
   */
  static ExpressionAutomaton of(String text, boolean foldsCase, long states) {
    final Node tree = ExpressionTree.of(text, foldsCase);
    return tree == null ? null : new Builder(tree, states).build();
  }

  /** Returns whether a text matches as a whole: 1 or 0; -1 where it is not ASCII. */
  int matches(String text) {
    int state = start;
    for (int i = 0; i < text.length(); i++) {
      final char c = text.charAt(i);
      if (c >= ExpressionTree.CHARACTERS) {
        return -1;
      }
      state = next[state * classCount + classes[c]];
    }
    return accepting.get(state) ? 1 : 0;
  }

  /** Returns whether a text of these characters matches. */
  boolean matchesSome(BitSet characters) {
    return matchesSome(1, 0, (only, c) -> characters.get(c) ? only : OUTSIDE, only -> true);
  }

  /** Returns whether a path with its query matches that is in its normal form. */
  boolean matchesSomeTarget(boolean keepsSlashes) {
    return matchesSome(
        NormalTarget.STATES,
        NormalTarget.START,
        (state, c) -> {
          final int to = NormalTarget.next(state, c, keepsSlashes);
          return to == NormalTarget.DEAD ? OUTSIDE : to;
        },
        NormalTarget::isEnd);
  }

  /**
   * Returns whether a text matches that another automaton takes, too.
   *
   * @param others how many states that has
   * @param othersStart its first state
   * @param step its next state after a state and a character, or {@link #OUTSIDE}
   * @param isEnd whether a text may end in one of its states
   */
  private boolean matchesSome(
      int others, int othersStart, IntBinaryOperator step, IntPredicate isEnd) {
    final BitSet seen = new BitSet();
    final Deque<Integer> open = new ArrayDeque<>(List.of(start * others + othersStart));
    while (!open.isEmpty()) {
      final int both = open.poll();
      final int state = both / others;
      final int other = both % others;
      if (accepting.get(state) && isEnd.test(other)) {
        return true;
      }
      for (int c = 0; c < ExpressionTree.CHARACTERS; c++) {
        final int to = next[state * classCount + classes[c]];
        final int otherTo = step.applyAsInt(other, c);
        final int toBoth = to * others + otherTo;
        if (to != DEAD && otherTo != OUTSIDE && !seen.get(toBoth)) {
          seen.set(toBoth);
          open.add(toBoth);
        }
      }
    }
    return false;
  }

  /** What the character before a place is. */
  private enum Before {
    NOTHING,
    WORD,
    LINE_FEED,
    OTHER
  }

  private record State(BitSet steps, Before before) {}

  /** A step of the program: a character, a condition, two ways to go on, or the end. */
  private static final class Step {
    final Node wanted;
    int first;
    int second = -1;

    Step(Node wanted, int first) {
      this.wanted = wanted;
      this.first = first;
    }
  }

  private static final class Builder {
    private static final Node FORK = new Sequence(List.of());
    private final List<Step> program = new ArrayList<>();
    private final Map<State, Integer> numbers = new HashMap<>();
    private final List<State> states = new ArrayList<>();
    private final BitSet accepting = new BitSet();
    private final Node tree;
    private final long most;
    private final byte[] classes = new byte[ExpressionTree.CHARACTERS];
    private final List<Integer> examples = new ArrayList<>();
    private boolean hasConditions;
    private long effort;

    Builder(Node tree, long size) {
      this.tree = tree;
      most = size * TRANSITIONS_PER_STATE + FURTHER_TRANSITIONS;
      effort = (size + 16) * EFFORT_PER_STATE;
    }

    ExpressionAutomaton build() {
      program.add(new Step(null, -1));
      final int first = compile(tree, 0);
      divideCharacters();
      if (first < 0) {
        return null;
      }
      number(new State(new BitSet(), Before.OTHER)); // DEAD
      final BitSet begin = new BitSet();
      follow(begin, first, null, -1);
      final int start = number(new State(begin, hasConditions ? Before.NOTHING : Before.OTHER));
      final int count = examples.size();
      char[] next = new char[count * 16];
      for (int state = 0; state < states.size(); state++) {
        if ((long) states.size() * count > Math.min(most, Character.MAX_VALUE) || effort < 0) {
          return null;
        }
        if (next.length < states.size() * count) {
          next = Arrays.copyOf(next, states.size() * count * 2);
        }
        for (int c = 0; c < count && state != DEAD; c++) {
          final int to = number(step(states.get(state), examples.get(c)));
          next[state * count + c] = (char) to;
        }
      }
      return new ExpressionAutomaton(
          classes, count, Arrays.copyOf(next, states.size() * count), accepting, start);
    }

    /** Returns the step that a part begins with; -1: there are too many steps. */
    private int compile(Node node, int then) {
      if (then < 0 || --effort < 0 || program.size() > most) {
        return -1;
      }
      return switch (node) {
        case Chars chars -> add(new Step(chars, then));
        case Assertion assertion -> {
          hasConditions = true;
          yield add(new Step(assertion, then));
        }
        case Sequence(List<Node> parts) -> {
          int first = then;
          for (int i = parts.size() - 1; i >= 0; i--) {
            first = compile(parts.get(i), first);
          }
          yield first;
        }
        case Choice(List<Node> parts) -> {
          int first = compile(parts.getLast(), then);
          for (int i = parts.size() - 2; i >= 0 && first >= 0; i--) {
            first = fork(compile(parts.get(i), then), first);
          }
          yield first;
        }
        case Repeat repeat -> repeat(repeat, then);
      };
    }

    private int repeat(Repeat repeat, int then) {
      int first = then;
      if (repeat.most() < 0) {
        first = fork(then, then);
        program.get(first).first = compile(repeat.part(), first);
        if (program.get(first).first < 0) {
          return -1;
        }
      }
      for (int i = repeat.least(); i < repeat.most() && first >= 0; i++) {
        final int part = compile(repeat.part(), first);
        first = part < 0 ? -1 : fork(part, then);
      }
      for (int i = 0; i < repeat.least() && first >= 0; i++) {
        first = compile(repeat.part(), first);
      }
      return first;
    }

    private int add(Step step) {
      program.add(step);
      return program.size() - 1;
    }

    private int fork(int first, int second) {
      final int fork = add(new Step(FORK, first));
      program.get(fork).second = second;
      return first < 0 || second < 0 ? -1 : fork;
    }

    /** Characters that every step takes alike are one class. */
    private void divideCharacters() {
      final List<Chars> sets = new ArrayList<>();
      for (final Step step : program) {
        if (step.wanted instanceof Chars chars && !sets.contains(chars)) {
          sets.add(chars);
        }
      }
      final Map<BitSet, Integer> known = new HashMap<>();
      for (int c = 0; c < classes.length; c++) {
        final BitSet in = new BitSet();
        for (int i = 0; i < sets.size(); i++) {
          in.set(i, sets.get(i).contains(c));
        }
        in.set(sets.size(), hasConditions && before(c) == Before.WORD);
        in.set(sets.size() + 1, hasConditions && before(c) == Before.LINE_FEED);
        final Integer number = known.putIfAbsent(in, known.size());
        if (number == null) {
          examples.add(c);
        }
        classes[c] = (byte) (number == null ? known.size() - 1 : number);
      }
    }

    private static Before before(int c) {
      final boolean isWord =
          c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_';
      return isWord ? Before.WORD : c == '\n' ? Before.LINE_FEED : Before.OTHER;
    }

    private int number(State state) {
      final Integer known = numbers.putIfAbsent(state, states.size());
      if (known != null) {
        return known;
      }
      states.add(state);
      final BitSet end = new BitSet();
      for (int i = state.steps().nextSetBit(0); i >= 0; i = state.steps().nextSetBit(i + 1)) {
        follow(end, i, state.before(), -1);
      }
      accepting.set(states.size() - 1, end.get(0));
      return states.size() - 1;
    }

    /** Returns what a state is after a character. */
    private State step(State state, int c) {
      final BitSet here = new BitSet();
      for (int i = state.steps().nextSetBit(0); i >= 0; i = state.steps().nextSetBit(i + 1)) {
        follow(here, i, state.before(), c);
      }
      final BitSet to = new BitSet();
      for (int i = here.nextSetBit(0); i >= 0; i = here.nextSetBit(i + 1)) {
        if (program.get(i).wanted instanceof Chars chars && chars.contains(c)) {
          follow(to, program.get(i).first, null, -1);
        }
      }
      return to.isEmpty()
          ? states.get(DEAD)
          : new State(to, hasConditions ? before(c) : Before.OTHER);
    }

    /**
     * Adds a step and those that it leads to without a character.
     *
     * @param before null: conditions are not known yet, and stay
     * @param c the character after the place; -1: the text ends
     */
    private void follow(BitSet found, int from, Before before, int c) {
      final List<Integer> open = new ArrayList<>(List.of(from));
      while (!open.isEmpty()) {
        final int index = open.removeLast();
        effort--;
        if (found.get(index)) {
          continue;
        }
        found.set(index);
        final Step step = program.get(index);
        if (step.wanted == FORK) {
          open.add(step.second);
          open.add(step.first);
        } else if (step.wanted instanceof Assertion assertion
            && before != null
            && holds(assertion, before, c)) {
          open.add(step.first);
        }
      }
    }

    private static boolean holds(Assertion assertion, Before before, int c) {
      final boolean isBoundary = (before == Before.WORD) != (c >= 0 && before(c) == Before.WORD);
      return switch (assertion) {
        case BEGIN_TEXT -> before == Before.NOTHING;
        case END_TEXT -> c < 0;
        case BEGIN_LINE -> before == Before.NOTHING || before == Before.LINE_FEED;
        case END_LINE -> c < 0 || c == '\n';
        case WORD_BOUNDARY -> isBoundary;
        case NO_WORD_BOUNDARY -> !isBoundary;
      };
    }
  }
}
