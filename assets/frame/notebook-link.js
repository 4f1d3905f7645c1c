// The notebook carries the address of this site, wherever the site is served.
((script) => {
  var link = script.previousElementSibling;
  link.addEventListener("click", (event) => {
    event.preventDefault();
    fetch(link.href)
      .then((answer) => {
        if (!answer.ok) throw answer;
        return answer.text();
      })
      .then((text) => {
        var here = text.split(script.dataset.address).join(new URL("../../", script.src).href);
        var copy = document.createElement("a");
        copy.href = URL.createObjectURL(new Blob([here], {type: "application/x-ipynb+json"}));
        copy.download = link.download;
        copy.click();
      })
      .catch(() => {
        location.href = link.href;
      });
  });
})(document.currentScript);
