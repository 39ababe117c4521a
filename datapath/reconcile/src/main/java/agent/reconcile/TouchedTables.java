package agent.reconcile;

import java.util.ArrayList;
import java.util.List;

/** The tables whose maps were written in this step. */
final class TouchedTables {
  private final List<DesiredTable> touched = new ArrayList<>();

  void add(DesiredTable written) {
    if (!written.isTouched()) {
      written.touched(true);
      touched.add(written);
    }
  }

  /** Ends the step of each table, and forgets them. */
  void endStep() {
    for (int i = 0; i < touched.size(); i++) {
      touched.get(i).touched(false);
      touched.get(i).realization().onStepEnd();
    }
    touched.clear();
  }
}
