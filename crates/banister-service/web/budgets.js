// Budgets over time: what of the amount is spent and reserved in this period.

import { h, panel, setAttr, setStyle, setText, show, syncList } from "./dom.js";
import { count, fullTime, futureTime, num } from "./format.js";
import { budgetInWords, budgetsOf, refusingInWords } from "./words.js";

function budgetRow() {
  const name = h("b", { class: "clip" }),
    limit = h("span", { class: "note" }),
    badge = h("span", { class: "badge" });
  const spent = h("i", { class: "b-spent" }),
    reserved = h("i", { class: "b-reserved" }),
    mark = h("i", { class: "p-threshold" });
  const track = h("div", { class: "proof", role: "img" }, spent, reserved, mark);
  const sentence = h("p", { class: "proof-text" }),
    pace = h("p", { class: "proof-text" });
  const node = h("li", null, h("div", { class: "proof-head" }, name, badge, limit), track, sentence, pace);
  return {
    node,
    update({ guardrail, budget: b, refusing }) {
      // Beyond the amount there is only what the safe action costs.
      const whole = Math.max(b.amount, b.spent + b.reserved);
      const share = (x) => `${(100 * x) / whole}%`;
      setText(name, guardrail);
      setAttr(name, "title", guardrail);
      setText(limit, budgetInWords(b));
      show(badge, refusing || b.exhausted > 0 || b.beyond > 0);
      const forced = b.beyond > 0 ? `⚠ ${num(b.beyond)} beyond` : `⚠ exhausted ${count(b.exhausted)} times`;
      setText(badge, refusing ? "✕ refuses decisions" : forced);
      setAttr(badge, "class", "badge bad");
      setStyle(spent, "width", share(b.spent));
      setStyle(reserved, "left", share(b.spent));
      setStyle(reserved, "width", share(b.reserved));
      setStyle(mark, "left", share(b.amount));
      const words = `${num(b.spent)} spent and at most ${num(b.reserved)} reserved of ${num(b.amount)}, ${
        num(b.remaining)
      } left; ${count(b.decisions)} decisions ${b.per === "day" ? "today" : `this ${b.per}`}`;
      setText(sentence, words);
      show(pace, refusing || b.pace !== null);
      setText(
        pace,
        refusing
          ? `${refusingInWords({ guardrail, until: b.period_end })}.`
          : `Paced: the rest of the budget allows ${num(b.pace)} per decision until ${futureTime(b.period_end)}.`,
      );
      setAttr(pace, "class", refusing ? "proof-text bad" : "proof-text");
      setAttr(track, "aria-label", words);
      setAttr(track, "title", `from ${fullTime(b.period_start)} to ${fullTime(b.period_end)}`);
    },
  };
}

export function budgetsPanel() {
  const list = h("ul", { class: "proofs", "data-testid": "budgets" });
  const node = panel("Budgets", null, list);
  return {
    node,
    update({ budgets, refusing }) {
      const rows = budgetsOf(budgets).map(([guardrail, budget]) => ({
        guardrail,
        budget,
        refusing: Boolean(refusing) && refusing.guardrail === guardrail && refusing.until === budget.period_end,
      }));
      show(node, rows.length > 0);
      syncList(list, rows, (row) => `${row.guardrail} ${row.budget.per}`, budgetRow);
    },
  };
}
