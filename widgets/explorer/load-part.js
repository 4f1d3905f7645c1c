// Parts whose code comes when they are first opened, so that a first visit doesn't wait for it.

import {html} from "../../assets/vendor/lit.js";

/** What `draw(module)` gives, once `load()` has brought the module. */
export function loadPart(widget, name, load, draw) {
  const {loaded} = widget.data.session;
  if (loaded[name]?.isFailed)
    return html`<p class="note">This part could not be loaded. Close it and open it again.</p>`;
  if (loaded[name] && !(loaded[name] instanceof Promise)) return draw(loaded[name]);
  if (!loaded[name])
    loaded[name] = load()
      .then(
        (module) => (loaded[name] = module),
        () => (loaded[name] = {isFailed: true}),
      )
      .then(() => {
        widget.data.session.drawn = null;
        widget.refresh();
        if (loaded[name].isFailed) delete loaded[name];
      });
  return html`<p class="note" aria-busy="true">Loading …</p>`;
}
